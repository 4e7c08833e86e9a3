<?php

/**
 * The parts of Joomla 4.4, 5.0, 5.3 and 6.1 that the plugins use, in the shape of each version: events, plugin
 * constructor, HTTP, database and installer. A site is a folder with plugins and an SQLite database.
 *
 * It reads lines of JSON and answers each with a line: first {"version","site","ca","resolve","shop"}, then any number of
 * {"client","language","root","option","steps":[...]}, answered with the result of each step. The shops (hikashop.php,
 * membershippro.php, j2commerce.php) and the administrator's component (component.php) add steps of their own.
 */

namespace {
    const _JEXEC = 1;

    set_error_handler(function ($level, $message, $file, $line) {
        throw new ErrorException($message, 0, $level, $file, $line);
    });

    final class Host
    {
        public static $in;
        public static $db;
        public static $app;
        public static $container;
        public static $dispatcher;
        public static $plugins = [];
        public static $mails = [];
        public static $log = [];

        public static function since(string $version): bool
        {
            return version_compare(self::$in['version'], $version, '>=');
        }
    }

    Host::$in = json_decode(fgets(STDIN), true);
    define('JPATH_PLUGINS', Host::$in['site'] . '/plugins');
}

namespace Joomla\Event {
    interface EventInterface
    {
    }
    interface SubscriberInterface
    {
        public static function getSubscribedEvents(): array;
    }
    interface DispatcherInterface
    {
    }

    final class Priority
    {
        const MAX = 3;
    }

    class Event implements EventInterface
    {
        protected $arguments;

        public function __construct(string $name, array $arguments = [])
        {
            $this->arguments = $arguments;
        }

        public function getArgument($name, $default = null)
        {
            return $this->arguments[$name] ?? $default;
        }

        public function getArguments()
        {
            return $this->arguments;
        }

        public function setArgument($name, $value)
        {
            $this->arguments[$name] = $value;

            return $this;
        }
    }

    class Dispatcher implements DispatcherInterface
    {
        private $listeners = [];

        public function addSubscriber(SubscriberInterface $subscriber)
        {
            foreach ($subscriber::getSubscribedEvents() as $event => $listens) {
                $this->listeners[$event][] = [$subscriber, is_array($listens) ? $listens[0] : $listens];
            }
        }

        public function dispatch(string $name, EventInterface $event)
        {
            foreach ($this->listeners[$name] ?? [] as $listener) {
                $listener($event);
            }

            return $event;
        }
    }
}

namespace Joomla\CMS\Event\Installer {
    if (\Host::since('5.0')) {
        class BeforePackageDownloadEvent extends \Joomla\Event\Event
        {
            public function __construct($name, array $arguments = [])
            {
                if (\Host::since('7.0')) {
                    $this->arguments = ['url' => $arguments['url'], 'headers' => $arguments['headers']];

                    return;
                }

                $this->arguments['url'] = &$arguments['url'];
                $this->arguments['headers'] = &$arguments['headers'];
            }

            public function getUrl(): string
            {
                return $this->arguments['url'];
            }

            public function getHeaders(): array
            {
                return $this->arguments['headers'];
            }

            public function updateUrl(string $value)
            {
                $this->arguments['url'] = $value;

                return $this;
            }

            public function updateHeaders(array $value)
            {
                $this->arguments['headers'] = $value;

                return $this;
            }
        }
    }

    if (\Host::since('5.3')) {
        class BeforeUpdateSiteDownloadEvent extends BeforePackageDownloadEvent
        {
        }
    }
}

namespace Joomla\DI {
    interface ServiceProviderInterface
    {
        public function register(Container $container);
    }

    class Container
    {
        private $made = [];

        public function set($name, callable $make)
        {
            $this->made[$name] = $make;

            return $this;
        }

        public function get($name)
        {
            return $this->made[$name]($this);
        }

        public function registerServiceProvider(ServiceProviderInterface $provider)
        {
            $provider->register($this);

            return $this;
        }
    }
}

namespace Joomla\Database {
    interface DatabaseInterface
    {
    }

    trait DatabaseAwareTrait
    {
        private $databaseAwareTraitDatabase;

        protected function getDatabase(): DatabaseInterface
        {
            return $this->databaseAwareTraitDatabase;
        }

        public function setDatabase(DatabaseInterface $db): void
        {
            $this->databaseAwareTraitDatabase = $db;
        }
    }

    /** Uses SQLite's shell, because PHP's own driver may not be installed. */
    class SqliteDriver implements DatabaseInterface
    {
        private $sql;
        private $affected = 0;

        public function setQuery($query)
        {
            $this->sql = str_replace('#__', 'jos_', $query);

            return $this;
        }

        public function quote($text)
        {
            return "'" . str_replace("'", "''", $text) . "'";
        }

        public function execute()
        {
            $this->sql .= ";\nSELECT changes() AS number";
            $this->affected = $this->loadObjectList()[0]->number;

            return true;
        }

        public function getAffectedRows()
        {
            return $this->affected;
        }

        public function loadObjectList()
        {
            $shell = self::shell();
            fwrite($shell[0], $this->sql . ";\n.print --end--\n");
            $output = '';

            while (($line = fgets($shell[1])) !== "--end--\n") {
                if ($line === false) {
                    // The shell exits at a fault. The next query starts another one.
                    self::$shell = [];

                    throw new \RuntimeException(stream_get_contents($shell[2]));
                }

                $output .= $line;
            }

            return json_decode($output ?: '[]');
        }

        /** The pipes and the process of one shell for all queries. PHP would end a process that nothing refers to. */
        private static $shell = [];

        private static function shell(): array
        {
            if (!self::$shell) {
                $command = ['sqlite3', '-cmd', '.timeout 10000', '-bail', '-json', \Host::$in['site'] . '/site.sqlite'];
                $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes);
                self::$shell = $pipes + ['process' => $process];
            }

            return self::$shell;
        }

        public function loadResult()
        {
            $rows = $this->loadObjectList();

            return $rows ? current((array) $rows[0]) : null;
        }
    }
}

namespace Joomla\Registry {
    class Registry
    {
        private $data;

        public function __construct($json = '')
        {
            $this->data = json_decode($json, true) ?: [];
        }

        public function get($name, $default = null)
        {
            return $this->data[$name] ?? $default;
        }
    }
}

namespace Joomla\CMS\Extension {
    interface PluginInterface
    {
    }
}

namespace Joomla\CMS\Language {
    interface LanguageFactoryInterface
    {
    }

    class LanguageFactory implements LanguageFactoryInterface
    {
        public function createLanguage($lang, $debug = false): Language
        {
            return new Language($lang);
        }
    }

    class Language
    {
        private $strings = [];
        private $tag;

        public function __construct(string $tag)
        {
            $this->tag = $tag;
        }

        public function getTag()
        {
            return $this->tag;
        }

        public function load($extension, $basePath, $lang = null, $reload = false, $default = true)
        {
            $text = file_get_contents("$basePath/language/$lang/$extension.ini");
            $this->strings = str_replace('\"', '"', parse_ini_string($text, false, INI_SCANNER_RAW)) + $this->strings;

            return true;
        }

        public function hasKey($key)
        {
            return isset($this->strings[strtoupper($key)]);
        }

        public function _($key)
        {
            return $this->strings[strtoupper($key)] ?? $key;
        }
    }
}

namespace Joomla\CMS\Uri {
    class Uri
    {
        private $address;

        public function __construct(string $address)
        {
            $this->address = $address;
        }

        public static function getInstance($uri)
        {
            return new self($uri);
        }

        public function getHost()
        {
            return parse_url($this->address, PHP_URL_HOST);
        }

        public static function root($pathonly = false)
        {
            return $pathonly ? rtrim(parse_url(\Host::$in['root'], PHP_URL_PATH), '/') : \Host::$in['root'];
        }
    }
}

namespace Joomla\CMS\Application {
    interface CMSApplicationInterface
    {
    }

    class Application implements CMSApplicationInterface
    {
        public $messages = [];
        private $language;

        public function isClient($name)
        {
            return $name === \Host::$in['client'];
        }

        public function enqueueMessage($message, $type = 'info')
        {
            $this->messages[] = [$type, $message];
        }

        public function getLanguage()
        {
            return $this->language ?? ($this->language = new \Joomla\CMS\Language\Language(\Host::$in['language']));
        }

        public function getInput()
        {
            return new class () {
                public function get($name, $default = null)
                {
                    return in_array($name, ['option', 'view'], true) ? \Host::$in[$name] ?? $default : $default;
                }
            };
        }

        /** Returns an administrator with all permissions. */
        public function getIdentity()
        {
            return new class () {
                public function authorise($action, $asset = null)
                {
                    return true;
                }
            };
        }

        /** Triggers an event. Joomla turns an array of arguments into a plain event if it has no class for the event. */
        public function triggerEvent($name, $arguments = [])
        {
            $isEvent = $arguments instanceof \Joomla\Event\EventInterface;
            \Host::$dispatcher->dispatch($name, $isEvent ? $arguments : new \Joomla\Event\Event($name, $arguments));

            return [];
        }
    }
}

namespace Joomla\CMS\Plugin {
    abstract class AnyPlugin implements \Joomla\CMS\Extension\PluginInterface
    {
        public $params;
        private $application;

        protected function configure(array $config)
        {
            $this->params = new \Joomla\Registry\Registry($config['params']);
        }

        protected function getApplication(): ?\Joomla\CMS\Application\CMSApplicationInterface
        {
            return $this->application;
        }

        public function setApplication(\Joomla\CMS\Application\CMSApplicationInterface $application): void
        {
            $this->application = $application;
        }
    }

    if (\Host::since('5.3')) {
        abstract class CMSPlugin extends AnyPlugin
        {
            public function __construct($config = [])
            {
                $isOld = $config instanceof \Joomla\Event\DispatcherInterface;

                // A new site does not have the plugin for compatibility, which would accept a dispatcher.
                if ($isOld && \Host::since('7.0')) {
                    throw new \BadMethodCallException('Passing a dispatcher is only available in compatibility mode.');
                }

                $this->configure($isOld ? func_get_arg(1) : $config);
            }
        }
    } elseif (\Host::since('5.0')) {
        abstract class CMSPlugin extends AnyPlugin
        {
            public function __construct(\Joomla\Event\DispatcherInterface $dispatcher, array $config = [])
            {
                $this->configure($config);
            }
        }
    } else {
        abstract class CMSPlugin extends AnyPlugin
        {
            public function __construct(&$subject, $config = [])
            {
                $this->configure($config);
            }
        }
    }

    class PluginHelper
    {
        public static function getPlugin($group, $element)
        {
            return \Host::$plugins["$group/$element"];
        }
    }
}

namespace Joomla\Http {
    class Response
    {
        private $status;
        private $text;
        private $headers;

        public function __construct(int $status, string $text, array $headers)
        {
            $this->status = $status;
            $this->text = $text;
            $this->headers = $headers;
        }

        public function getHeaderLine($name)
        {
            return $this->headers[strtolower($name)] ?? '';
        }

        public function getStatusCode()
        {
            return $this->status;
        }

        /** Returns a stream, as Joomla does, which turns into the text when it is used as a string. */
        public function getBody()
        {
            return new class ($this->text) {
                private $text;

                public function __construct(string $text)
                {
                    $this->text = $text;
                }

                public function __toString(): string
                {
                    return $this->text;
                }
            };
        }
    }

    class Http
    {
        private $options;

        public function __construct(array $options)
        {
            $this->options = $options;
        }

        public function get($url, array $headers = [], $timeout = null)
        {
            return $this->request([], $url, $headers, $timeout);
        }

        public function post($url, $data, array $headers = [], $timeout = null)
        {
            return $this->request([CURLOPT_POST => true, CURLOPT_POSTFIELDS => $data], $url, $headers, $timeout);
        }

        /** Sends a request with the options that Joomla's transport for cURL sets. */
        private function request(array $options, $url, array $headers, $timeout)
        {
            $received = [];
            $options += [
                CURLOPT_HEADERFUNCTION => function ($handle, $line) use (&$received) {
                    $parts = explode(':', $line, 2);
                    $received[strtolower($parts[0])] = trim($parts[1] ?? '');

                    return strlen($line);
                },
                CURLOPT_CAINFO => \Host::$in['ca'],
                CURLOPT_RESOLVE => \Host::$in['resolve'],
                CURLOPT_CONNECT_TO => \Host::$in['connect'] ?? [],
                CURLOPT_HTTPHEADER => [],
                CURLOPT_URL => str_replace('&amp;', '&', $url),
                CURLOPT_USERAGENT => 'Mozilla/5.0 Joomla!/' . \Host::$in['version'] . '.0 Joomla',
                CURLOPT_RETURNTRANSFER => true,
                CURLOPT_FOLLOWLOCATION => (bool) ($this->options['follow_location'] ?? true),
            ];

            foreach ($headers as $name => $value) {
                $options[CURLOPT_HTTPHEADER][] = "$name: $value";
            }

            if ($timeout !== null) {
                $options[CURLOPT_TIMEOUT] = (int) $timeout;
                $options[CURLOPT_CONNECTTIMEOUT] = (int) $timeout;
            }

            $handle = curl_init();
            curl_setopt_array($handle, ($this->options['transport.curl'] ?? []) + $options);
            $body = curl_exec($handle);

            if (!is_string($body)) {
                throw new \RuntimeException(curl_error($handle));
            }

            return new Response(curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $body, $received);
        }
    }

    class HttpFactory
    {
        public function getHttp($options = [], $adapters = null)
        {
            return new Http($options);
        }
    }
}

namespace Joomla\CMS\Http {
    if (!\Host::since('6.0')) {
        class HttpFactory
        {
            public static function getHttp($options = [], $adapters = null)
            {
                return new \Joomla\Http\Http($options);
            }
        }
    }
}

namespace Joomla\CMS\Log {
    class Log
    {
        const WARNING = 16;

        public static function add($entry, $priority = 64, $category = '')
        {
            \Host::$log[] = "$category: $entry";
        }
    }
}

namespace Joomla\CMS\Mail {
    interface MailerFactoryInterface
    {
    }

    class MailerFactory implements MailerFactoryInterface
    {
        public function createMailer($settings = null): Mail
        {
            return new Mail();
        }
    }

    /** The part of Joomla's mailer that is used. The answer of a step has the mails that it sent. */
    class Mail
    {
        public $Subject = '';
        public $Body = '';
        public $AltBody = '';
        private $to = [];

        public function addRecipient($recipient, $name = '')
        {
            $this->to[] = $name === '' ? $recipient : "$name <$recipient>";

            return $this;
        }

        public function setSubject($subject)
        {
            $this->Subject = $subject;

            return $this;
        }

        public function setBody($content)
        {
            $this->Body = $content;

            return $this;
        }

        public function send()
        {
            if (strpos(implode($this->to), 'nobody@example.com') !== false) {
                throw new \RuntimeException('The mail server refused nobody@example.com.');
            }

            \Host::$mails[] = [
                'to' => implode(', ', $this->to),
                'subject' => $this->Subject,
                'body' => $this->Body,
                'alt' => $this->AltBody,
            ];

            return true;
        }
    }
}

namespace Joomla\CMS\Installer {
    class InstallerAdapter
    {
    }

    interface InstallerScriptInterface
    {
        public function install(InstallerAdapter $adapter): bool;
        public function update(InstallerAdapter $adapter): bool;
        public function uninstall(InstallerAdapter $adapter): bool;
        public function preflight(string $type, InstallerAdapter $adapter): bool;
        public function postflight(string $type, InstallerAdapter $adapter): bool;
    }
}

namespace Joomla\CMS {
    class Factory
    {
        public static function getApplication()
        {
            return \Host::$app;
        }

        public static function getContainer()
        {
            return \Host::$container;
        }
    }
}

namespace {
    use Joomla\CMS\Event\Installer\BeforePackageDownloadEvent;
    use Joomla\CMS\Event\Installer\BeforeUpdateSiteDownloadEvent;
    use Joomla\CMS\Extension\PluginInterface;
    use Joomla\CMS\Installer\InstallerAdapter;
    use Joomla\CMS\Language\LanguageFactory;
    use Joomla\CMS\Language\LanguageFactoryInterface;
    use Joomla\CMS\Mail\MailerFactory;
    use Joomla\CMS\Mail\MailerFactoryInterface;
    use Joomla\Database\DatabaseInterface;
    use Joomla\Event\DispatcherInterface;
    use Joomla\Event\Event;

    Host::$db = new Joomla\Database\SqliteDriver();
    Host::$container = new Joomla\DI\Container();
    Host::$container->set(DatabaseInterface::class, function () {
        return Host::$db;
    });
    Host::$container->set(LanguageFactoryInterface::class, function () {
        return new LanguageFactory();
    });
    Host::$container->set(MailerFactoryInterface::class, function () {
        return new MailerFactory();
    });

    if (isset(Host::$in['shop'])) {
        require __DIR__ . '/' . Host::$in['shop'] . '.php';
    }

    /** Starts a request, and loads the enabled plugins by their manifests. */
    function boot(): Joomla\Event\Dispatcher
    {
        Host::$app = new Joomla\CMS\Application\Application();
        $dispatcher = Host::$dispatcher = new Joomla\Event\Dispatcher();
        Host::$container->set(DispatcherInterface::class, function () use ($dispatcher) {
            return $dispatcher;
        });
        $rows = Host::$db->setQuery("SELECT * FROM #__extensions WHERE type = 'plugin' AND enabled = 1")->loadObjectList();

        foreach ($rows as $row) {
            $folder = JPATH_PLUGINS . "/$row->folder/$row->element";
            $namespace = (string) simplexml_load_file("$folder/$row->element.xml")->namespace;
            spl_autoload_register(function ($class) use ($namespace, $folder) {
                if (strpos($class, "$namespace\\") === 0) {
                    require_once "$folder/src" . str_replace('\\', '/', substr($class, strlen($namespace))) . '.php';
                }
            });
            Host::$plugins["$row->folder/$row->element"] = (object) [
                'type' => $row->folder,
                'name' => $row->element,
                'params' => $row->params,
            ];
            $provider = require "$folder/services/provider.php";
            $provider->register(Host::$container);
            $dispatcher->addSubscriber(Host::$container->get(PluginInterface::class));
        }

        return $dispatcher;
    }

    /** Fires the event and then downloads, as InstallerHelper::downloadPackage does. */
    function download(string $url): array
    {
        $dispatcher = boot();
        $headers = [];
        $name = 'onInstallerBeforePackageDownload';

        if (Host::since('5.0')) {
            $event = new BeforePackageDownloadEvent($name, ['url' => &$url, 'headers' => &$headers]);
        } else {
            $event = new Event($name, [&$url, &$headers]);
        }

        $start = microtime(true);
        $dispatcher->dispatch($name, $event);
        $seconds = microtime(true) - $start;

        if (Host::since('5.0')) {
            list($url, $headers) = [$event->getUrl(), $event->getHeaders()];
        }

        $factory = Host::since('6.0') ? Joomla\Http\HttpFactory::class : Joomla\CMS\Http\HttpFactory::class;

        try {
            $status = (new $factory())->getHttp()->get($url, $headers, 10)->getStatusCode();
        } catch (RuntimeException $fault) {
            $status = $fault->getMessage();
        }

        return ['messages' => Host::$app->messages] + compact('url', 'headers', 'seconds', 'status');
    }

    function fetch(string $url): string
    {
        $factory = Host::since('6.0') ? Joomla\Http\HttpFactory::class : Joomla\CMS\Http\HttpFactory::class;
        $response = (new $factory())->getHttp()->get($url, [], 10);

        return $response->getStatusCode() === 200 ? (string) $response->getBody() : '<updates/>';
    }

    /**
     * Looks for updates as UpdateAdapter and, since 5.3.1, ExtensionAdapter do: a plugin may change the address that is read,
     * but the row keeps the ordinary one.
     */
    function search(string $location): array
    {
        $dispatcher = boot();
        $url = $location;

        if (Host::since('5.3')) {
            $name = 'onInstallerBeforeUpdateSiteDownload';
            $event = new BeforeUpdateSiteDownloadEvent($name, ['url' => $url, 'headers' => []]);
            $url = $dispatcher->dispatch($name, $event)->getArgument('url');
        }

        $version = (string) simplexml_load_string(fetch($url))->update->version;
        list($location, $quoted) = [Host::$db->quote($location), Host::$db->quote($version)];
        Host::$db->setQuery(
            'DELETE FROM #__updates;'
            . ' INSERT INTO #__updates (update_site_id, type, element, folder, client_id, version, detailsurl)'
            . " SELECT 1, type, element, folder, client_id, $quoted, $location FROM #__extensions WHERE extension_id = 1"
        )->execute();

        return compact('url', 'version');
    }

    /** Returns what a click on "Update" would fetch: like UpdateModel::update, it reads the stored address. */
    function click(): array
    {
        boot()->dispatch('onAfterInitialise', new Event('onAfterInitialise'));
        $address = Host::$db->setQuery('SELECT detailsurl FROM #__updates')->loadResult();
        $update = simplexml_load_string(fetch($address))->update;

        return ['version' => (string) $update->version, 'download' => (string) $update->downloads->downloadurl];
    }

    /** Installs as the adapters of Joomla's installer do. @param files the package, unpacked with the zips in it */
    function install(string $files): array
    {
        $manifests = Host::$in['site'] . '/manifests';
        $installed = [];

        if (!glob("$files/pkg_*.xml")) {
            return [installPlugin($files, basename(glob("$files/*.xml")[0], '.xml'))];
        }

        $manifest = simplexml_load_file(glob("$files/pkg_*.xml")[0]);

        foreach ($manifest->files->file as $file) {
            $installed[] = installPlugin("$files/" . basename((string) $file, '.zip'), (string) $file['id']);
        }

        mkdir("$manifests/$manifest->packagename", 0700, true);
        copy(glob("$files/pkg_*.xml")[0], "$manifests/pkg_$manifest->packagename.xml");
        copy("$files/$manifest->scriptfile", "$manifests/$manifest->packagename/$manifest->scriptfile");
        insert((string) $manifest->name, 'package', "pkg_$manifest->packagename", '');
        $script = require "$files/$manifest->scriptfile";
        $script->postflight('install', new InstallerAdapter());

        return $installed;
    }

    function installPlugin(string $source, string $element): string
    {
        $plugin = simplexml_load_file("$source/$element.xml");
        $target = JPATH_PLUGINS . "/{$plugin['group']}/$element";
        mkdir($target, 0700, true);

        foreach ($plugin->files->folder as $folder) {
            passthru('cp -r ' . escapeshellarg("$source/$folder") . ' ' . escapeshellarg($target));
        }

        copy("$source/$element.xml", "$target/$element.xml");
        runSql($plugin->install, $target);
        insert((string) $plugin->name, 'plugin', $element, (string) $plugin['group']);

        return "{$plugin['group']}/$element";
    }

    /** Runs the manifest's SQL for MySQL, translated for SQLite. */
    function runSql(SimpleXMLElement $section, string $folder): void
    {
        foreach ($section->sql->file ?? [] as $file) {
            $sql = str_replace('int unsigned NOT NULL AUTO_INCREMENT', 'integer', file_get_contents("$folder/$file"));
            $sql = preg_replace(['/UNIQUE KEY `\w+`/', '/,\s*KEY `\w+` \([^)]*\)/', '/\) ENGINE=.*?;/'], ['UNIQUE', '', ');'], $sql);
            Host::$db->setQuery(trim($sql, "; \n"))->execute();
        }
    }

    function insert(string $name, string $type, string $element, string $folder): void
    {
        $values = implode(', ', array_map([Host::$db, 'quote'], [$name, $type, $element, $folder]));
        Host::$db->setQuery(
            "INSERT INTO #__extensions (name, type, element, folder, client_id, enabled, manifest_cache, params, custom_data)
            VALUES ($values, 0, 0, '{}', '{}', '')"
        )->execute();
    }

    /** Uninstalls as the adapters of Joomla's installer do. */
    function uninstall(string $package): void
    {
        $manifests = Host::$in['site'] . '/manifests';

        if (!is_file("$manifests/$package.xml")) {
            uninstallPlugin('system', $package);

            return;
        }

        $manifest = simplexml_load_file("$manifests/$package.xml");

        foreach ($manifest->files->file as $file) {
            uninstallPlugin((string) $file['group'], (string) $file['id']);
        }

        passthru('rm -r ' . escapeshellarg("$manifests/$manifest->packagename"));
        unlink("$manifests/$package.xml");
        Host::$db->setQuery("DELETE FROM #__extensions WHERE type = 'package' AND element = '$package'")->execute();
    }

    function uninstallPlugin(string $group, string $element): void
    {
        $folder = JPATH_PLUGINS . "/$group/$element";
        runSql(simplexml_load_file("$folder/$element.xml")->uninstall, $folder);
        Host::$db->setQuery(
            "DELETE FROM #__extensions WHERE type = 'plugin' AND element = '$element' AND folder = '$group'"
        )->execute();
        passthru('rm -r ' . escapeshellarg($folder));
    }

    /** Makes a request to the shop. Returns the page, the mails and the log. */
    function visitShop(array $step): array
    {
        $dispatcher = boot();
        Host::$mails = Host::$log = [];
        $start = microtime(true);
        ob_start();
        $result = shop($step);
        $shown = ob_get_clean();
        $dispatcher->dispatch('onAfterRespond', new Event('onAfterRespond'));
        $seconds = microtime(true) - $start;

        return ['mails' => Host::$mails, 'log' => Host::$log] + compact('result', 'shown', 'seconds');
    }

    echo "true\n";

    while (($line = fgets(STDIN)) !== false) {
        // A new request must see the present files, as in a web server.
        clearstatcache();
        Host::$in = json_decode($line, true) + Host::$in;
        $results = [];
        $client = Host::$in['client'];

        foreach (Host::$in['steps'] as $step) {
            list($name, $value) = [key($step), current($step)];
            Host::$in['client'] = $step['client'] ?? $client;

            if ($name === 'download') {
                $results[] = download($value);
            } elseif ($name === 'search') {
                $results[] = search($value);
            } elseif ($name === 'click') {
                $results[] = click();
            } elseif ($name === 'install') {
                $results[] = install($value);
            } elseif ($name === 'uninstall') {
                $results[] = uninstall($value);
            } elseif ($name === 'event') {
                Host::$mails = [];
                boot()->dispatch($value, new Event($value, (array) json_decode(json_encode($step['arguments'] ?? []))));
                $results[] = isset(Host::$in['shop'])
                    ? ['messages' => Host::$app->messages, 'mails' => Host::$mails]
                    : Host::$app->messages;
            } elseif ($name === 'shop') {
                $results[] = visitShop($value);
            } else {
                $results[] = Host::$db->setQuery($value)->loadObjectList();
            }
        }

        $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
        echo json_encode($results, $flags), "\n";
    }
}
