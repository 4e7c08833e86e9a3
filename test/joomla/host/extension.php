<?php

/**
 * Runs the extension of examples/with-activation with the parts of Joomla that it uses. It reads {"folder","site","root",
 * "language","steps":[...]} as a line of standard input. A step shows the field for a key, after a post, or an article.
 */

namespace {
    const _JEXEC = 1;

    set_error_handler(function ($level, $message, $file, $line) {
        if (error_reporting() & $level) {
            throw new ErrorException($message, 0, $level, $file, $line);
        }

        return false;
    });

    final class Host
    {
        public static $in;
        public static $post = [];
        public static $token = true;
    }

    Host::$in = json_decode(fgets(STDIN), true);
    define('JPATH_SITE', Host::$in['site']);
}

namespace Joomla\Event {
    interface EventInterface
    {
    }
    interface SubscriberInterface
    {
    }
}

namespace Joomla\CMS\Plugin {
    abstract class CMSPlugin
    {
        public $params;

        public function __construct(string $key)
        {
            $this->params = new class ($key) {
                private $key;

                public function __construct(string $key)
                {
                    $this->key = $key;
                }

                public function get($name, $default = null)
                {
                    return $name === 'licence_key' ? $this->key : $default;
                }
            };
        }
    }
}

namespace Joomla\CMS\Uri {
    class Uri
    {
        public static function root()
        {
            return \Host::$in['root'];
        }

        public static function getInstance()
        {
            return \Host::$in['root'] . 'administrator/index.php?option=com_plugins&view=plugin';
        }
    }
}

namespace Joomla\CMS\Session {
    class Session
    {
        public static function checkToken()
        {
            return \Host::$token;
        }
    }
}

namespace Joomla\CMS {
    class Factory
    {
        public static function getApplication()
        {
            return new class () {
                public function getLanguage()
                {
                    return $this;
                }

                public function getTag()
                {
                    return \Host::$in['language'];
                }

                public function getInput()
                {
                    return (object) ['post' => $this];
                }

                public function get($name, $default, $filter)
                {
                    return \Host::$post[$name] ?? $default;
                }
            };
        }
    }
}

namespace Joomla\CMS\Form {
    abstract class FormField
    {
        protected $element;
        protected $id;
        protected $name;
        protected $value;

        public function __construct(\SimpleXMLElement $element, string $value)
        {
            $this->element = $element;
            $this->value = $value;
            $this->id = 'jform_params_' . $element['name'];
            $this->name = 'jform[params][' . $element['name'] . ']';
        }

        abstract protected function getInput();

        public function render()
        {
            return $this->getInput();
        }
    }
}

namespace {
    $folder = Host::$in['folder'] . '/plg_content_acmehello';
    $manifest = simplexml_load_file("$folder/acmehello.xml");
    spl_autoload_register(function ($class) use ($folder, $manifest) {
        $namespace = $manifest->namespace . '\\';

        if (strpos($class, $namespace) === 0) {
            $file = str_replace('\\', '/', substr($class, strlen($namespace)));
            require "$folder/{$manifest->namespace['path']}/$file.php";
        }
    });
    $element = $manifest->config->fields->fieldset->field;
    $results = [];

    foreach (Host::$in['steps'] as $step) {
        Host::$post = $step['post'] ?? [];
        Host::$token = $step['token'] ?? true;

        if (isset($step['article'])) {
            $article = (object) ['text' => $step['article']];
            $event = new class ($article) implements Joomla\Event\EventInterface {
                private $article;

                public function __construct($article)
                {
                    $this->article = $article;
                }

                public function getArguments()
                {
                    return ['context' => 'com_content.article', 'subject' => $this->article];
                }
            };
            (new Acme\Plugin\Content\Hello\Extension\Hello($step['key']))->greet($event);
            $results[] = $article->text;
        } else {
            $class = $element['addfieldprefix'] . '\\' . $element['type'] . 'Field';
            $results[] = (new $class($element, $step['key']))->render();
        }
    }

    echo json_encode($results, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";
}
