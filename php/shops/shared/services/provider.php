<?php

use Joomla\CMS\Extension\PluginInterface;
use Joomla\CMS\Factory;
use Joomla\CMS\Plugin\PluginHelper;
use Joomla\Database\DatabaseInterface;
use Joomla\DI\Container;
use Joomla\DI\ServiceProviderInterface;
use Joomla\Event\DispatcherInterface;
use LicensingGateway\Plugin\System\ShopClass\Extension\Shop;

\defined('_JEXEC') or die;

return new class () implements ServiceProviderInterface {
    public function register(Container $container): void
    {
        $container->set(PluginInterface::class, function (Container $container) {
            // Joomla 4.4, which takes a reference, and 5 need the dispatcher first. Joomla 6 still takes it.
            $dispatcher = $container->get(DispatcherInterface::class);
            $plugin = new Shop($dispatcher, (array) PluginHelper::getPlugin('system', 'shopplugin'));
            $plugin->setApplication(Factory::getApplication());
            $plugin->setDatabase($container->get(DatabaseInterface::class));

            return $plugin;
        });
    }
};
