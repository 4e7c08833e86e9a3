<?php

use Acme\Plugin\Content\Hello\Extension\Hello;
use Joomla\CMS\Extension\PluginInterface;
use Joomla\CMS\Plugin\PluginHelper;
use Joomla\DI\Container;
use Joomla\DI\ServiceProviderInterface;
use Joomla\Event\DispatcherInterface;

\defined('_JEXEC') or die;

return new class () implements ServiceProviderInterface {
    public function register(Container $container): void
    {
        $container->set(PluginInterface::class, function (Container $container) {
            $config = (array) PluginHelper::getPlugin('content', 'acmehello');
            // Joomla 4.4 and 5.0 to 5.2 need the dispatcher first. Joomla 7 refuses it.
            $dispatcher = $container->get(DispatcherInterface::class);
            $parameters = (new \ReflectionMethod(Hello::class, '__construct'))->getParameters();

            return $parameters[0]->getName() === 'config' ? new Hello($config) : new Hello($dispatcher, $config);
        });
    }
};
