<?php

use Joomla\CMS\Extension\PluginInterface;
use Joomla\CMS\Factory;
use Joomla\CMS\Plugin\PluginHelper;
use Joomla\Database\DatabaseInterface;
use Joomla\DI\Container;
use Joomla\DI\ServiceProviderInterface;
use Joomla\Event\DispatcherInterface;
use VendorName\Plugin\System\Licence0\Extension\KeyKeeper;

\defined('_JEXEC') or die;

return new class () implements ServiceProviderInterface {
    public function register(Container $container): void
    {
        $container->set(PluginInterface::class, function (Container $container) {
            $config = (array) PluginHelper::getPlugin('system', 'vendorlicence0');
            // Joomla 4.4, which takes a reference, and 5.0 to 5.2 require the dispatcher first. Joomla 7 refuses it.
            $dispatcher = $container->get(DispatcherInterface::class);
            $parameters = (new \ReflectionMethod(KeyKeeper::class, '__construct'))->getParameters();
            $takesDispatcher = $parameters[0]->getName() !== 'config';
            $plugin = $takesDispatcher ? new KeyKeeper($dispatcher, $config) : new KeyKeeper($config);
            $plugin->setApplication(Factory::getApplication());
            $plugin->setDatabase($container->get(DatabaseInterface::class));

            return $plugin;
        });
    }
};
