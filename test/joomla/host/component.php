<?php

/**
 * The parts of Joomla that an administrator's component uses: installer, dispatcher, controller, view, document. A step is
 * {"install": folder}, or a request: {"get", "post", "user", "may", "secret"}.
 */

namespace Joomla\CMS\Dispatcher {
    interface ComponentDispatcherFactoryInterface
    {
    }
}

namespace Joomla\CMS\MVC\Factory {
    interface MVCFactoryInterface
    {
    }

    final class MVCFactory implements MVCFactoryInterface
    {
        private $namespace;

        public function __construct(string $namespace)
        {
            $this->namespace = trim($namespace, '\\') . '\\Administrator';
        }

        public function controller(string $name, $app, $input)
        {
            $class = "$this->namespace\\Controller\\" . ucfirst($name) . 'Controller';

            return new $class([], $this, $app, $input);
        }

        public function view(string $name, string $type)
        {
            $class = "$this->namespace\\View\\" . ucfirst($name) . '\\' . ucfirst($type) . 'View';

            return new $class();
        }
    }
}

namespace Joomla\CMS\Extension {
    interface ComponentInterface
    {
    }

    class MVCComponent implements ComponentInterface
    {
        public $factory;

        public function __construct(\Joomla\CMS\Dispatcher\ComponentDispatcherFactoryInterface $factory)
        {
        }

        public function setMVCFactory(\Joomla\CMS\MVC\Factory\MVCFactoryInterface $factory)
        {
            $this->factory = $factory;
        }
    }
}

namespace Joomla\CMS\Extension\Service\Provider {
    class MVCFactory implements \Joomla\DI\ServiceProviderInterface
    {
        private $namespace;

        public function __construct(string $namespace)
        {
            $this->namespace = $namespace;
        }

        public function register(\Joomla\DI\Container $container)
        {
            $container->set(\Joomla\CMS\MVC\Factory\MVCFactoryInterface::class, function () {
                return new \Joomla\CMS\MVC\Factory\MVCFactory($this->namespace);
            });
        }
    }

    class ComponentDispatcherFactory implements \Joomla\DI\ServiceProviderInterface
    {
        public function __construct(string $namespace)
        {
        }

        public function register(\Joomla\DI\Container $container)
        {
            $container->set(\Joomla\CMS\Dispatcher\ComponentDispatcherFactoryInterface::class, function () {
                return new class () implements \Joomla\CMS\Dispatcher\ComponentDispatcherFactoryInterface {
                };
            });
        }
    }
}

namespace Joomla\CMS\MVC\Controller {
    class BaseController
    {
        protected $app;
        protected $input;
        protected $basePath = JPATH_COMPONENT;
        protected $default_view;
        private $factory;
        private $views = [];

        public function __construct($config, $factory, $app, $input)
        {
            list($this->factory, $this->app, $this->input) = [$factory, $app, $input];
        }

        public function getView($name = '', $type = '', $prefix = '', $config = [])
        {
            return $this->views["$name $type"] ?? ($this->views["$name $type"] = $this->factory->view($name, $type));
        }

        public function display($cachable = false, $urlparams = [])
        {
            $view = $this->getView($this->input->get('view', $this->default_view), 'html');
            $view->setLayout($this->input->get('layout', 'default'));
            $view->display();

            return $this;
        }

        public function checkToken($method = 'post', $redirect = true)
        {
            if (($this->input->post[FORM_TOKEN] ?? '') !== '1') {
                $this->app->enqueueMessage('JINVALID_TOKEN_NOTICE', 'warning');

                throw new \LengthException('redirected');
            }

            return true;
        }
    }
}

namespace Joomla\CMS\MVC\View {
    class HtmlView
    {
        private $layout = 'default';

        public function setLayout($layout)
        {
            $this->layout = $layout;
        }

        public function escape($text)
        {
            return htmlspecialchars($text, ENT_QUOTES, 'UTF-8');
        }

        public function display($tpl = null)
        {
            include JPATH_COMPONENT . "/tmpl/licensing/$this->layout.php";
        }
    }
}

namespace Joomla\CMS\Toolbar {
    class ToolbarHelper
    {
        public static function title($title, $icon = '')
        {
            \Host::$app->title = $title;
        }

        public static function preferences($component)
        {
            \Host::$app->hasOptions = true;
        }
    }
}

namespace Joomla\CMS\HTML {
    class HTMLHelper
    {
        public static function _($key)
        {
            return $key === 'form.token' ? '<input type="hidden" name="' . FORM_TOKEN . '" value="1">' : '';
        }
    }
}

namespace Joomla\CMS\Language {
    class Text
    {
        public static function _($key)
        {
            return \Host::$app->getLanguage()->_($key);
        }
    }
}

namespace Joomla\CMS\Router {
    class Route
    {
        public static function _($url)
        {
            return '/administrator/' . htmlspecialchars($url);
        }
    }
}

namespace Joomla\CMS\Application {
    /** A request of an administrator. */
    final class Administrator extends Application
    {
        public $title = '';
        public $hasOptions = false;
        public $meta = [];
        public $scripts = [];
        public $step;

        public function __construct(array $step)
        {
            $this->step = $step;
        }

        public function get($name)
        {
            return ['secret' => $this->step['secret'] ?? ''][$name];
        }

        public function getIdentity()
        {
            return new class ($this->step) {
                public $id;
                public $username;
                private $may;

                public function __construct(array $step)
                {
                    list($this->id, $this->username) = $step['user'];
                    $this->may = $step['may'] ?? ['core.manage'];
                }

                public function authorise($action, $asset = null)
                {
                    return $asset === 'com_licensing' && in_array($action, $this->may, true);
                }
            };
        }

        public function getDocument()
        {
            return $this;
        }

        public function setMetaData($name, $content)
        {
            $this->meta[$name] = $content;
        }

        public function getWebAssetManager()
        {
            return $this;
        }

        public function registerAndUseScript($name, $uri, $options, $attributes)
        {
            $this->scripts[] = $uri;
        }
    }
}

namespace {
    use Joomla\CMS\Application\Administrator;
    use Joomla\CMS\Extension\ComponentInterface;

    const FORM_TOKEN = '0123456789abcdef0123456789abcdef';
    define('JPATH_COMPONENT', Host::$in['site'] . '/administrator/components/com_licensing');
    define('MEDIA', Host::$in['site'] . '/media');

    spl_autoload_register(function ($class) {
        $namespace = simplexml_load_file(JPATH_COMPONENT . '/licensing.xml')->namespace . '\\Administrator\\';

        if (strpos($class, $namespace) === 0) {
            require JPATH_COMPONENT . '/src/' . str_replace('\\', '/', substr($class, strlen($namespace))) . '.php';
        }
    });

    function copyInto(SimpleXMLElement $list, string $source, string $target): void
    {
        mkdir($target, 0700, true);

        foreach ($list->children() as $one) {
            passthru('cp -r ' . escapeshellarg("$source/{$list['folder']}/$one") . ' ' . escapeshellarg("$target/"));
        }
    }

    function shop(array $step)
    {
        if (isset($step['install'])) {
            $manifest = simplexml_load_file("$step[install]/licensing.xml");
            copyInto($manifest->administration->files, $step['install'], JPATH_COMPONENT);
            copyInto($manifest->media, $step['install'], MEDIA . '/' . $manifest->media['destination']);
            copy("$step[install]/licensing.xml", JPATH_COMPONENT . '/licensing.xml');

            return [
                'title' => trim((string) $manifest->administration->menu),
                'params' => get_object_vars($manifest->administration->menu->params),
            ];
        }

        Host::$app = new Administrator($step);
        $language = Host::$in['language'];
        Host::$app->getLanguage()->load('com_licensing', JPATH_COMPONENT, is_dir(JPATH_COMPONENT . "/language/$language") ? $language : 'en-GB');

        // ComponentDispatcher::checkAccess() refuses this way.
        if (!Host::$app->getIdentity()->authorise('core.manage', 'com_licensing')) {
            return ['status' => 403];
        }

        $provider = require JPATH_COMPONENT . '/services/provider.php';
        $provider->register(Host::$container);
        $input = new class ($step) {
            public $post;
            private $all;

            public function __construct(array $step)
            {
                $this->post = $step['post'] ?? [];
                $this->all = $this->post + ($step['get'] ?? []);
            }

            public function get($name, $default = null)
            {
                return $this->all[$name] ?? $default;
            }

            public function set($name, $value)
            {
                $this->all[$name] = $value;
            }
        };
        $controller = Host::$container->get(ComponentInterface::class)->factory->controller('display', Host::$app, $input);
        $task = $input->get('task', 'display');
        $status = 200;

        try {
            $controller->$task();
        } catch (LengthException $redirect) {
            $status = 303;
        }

        $app = Host::$app;

        return [
            'status' => $status,
            'title' => $app->title,
            'hasOptions' => $app->hasOptions,
            'messages' => $app->messages,
            'meta' => $app->meta,
            'scripts' => $app->scripts,
            'template' => $input->get('tmpl', 'index'),
        ];
    }
}
