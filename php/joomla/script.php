<?php

use Joomla\CMS\Factory;
use Joomla\CMS\Installer\InstallerAdapter;
use Joomla\CMS\Installer\InstallerScriptInterface;
use Joomla\Database\DatabaseInterface;

\defined('_JEXEC') or die;

/** Enables both plugins when they are installed. An update keeps the administrator's choice. */
return new class () implements InstallerScriptInterface {
    public function install(InstallerAdapter $adapter): bool
    {
        return true;
    }

    public function update(InstallerAdapter $adapter): bool
    {
        return true;
    }

    public function uninstall(InstallerAdapter $adapter): bool
    {
        return true;
    }

    public function preflight(string $type, InstallerAdapter $adapter): bool
    {
        return true;
    }

    public function postflight(string $type, InstallerAdapter $adapter): bool
    {
        if ($type === 'install') {
            $db = Factory::getContainer()->get(DatabaseInterface::class);
            $db->setQuery(
                'UPDATE #__extensions SET enabled = 1 WHERE type = ' . $db->quote('plugin')
                . ' AND element = ' . $db->quote('vendorlicence0')
                . ' AND folder IN (' . $db->quote('installer') . ', ' . $db->quote('system') . ')'
            )->execute();
        }

        return true;
    }
};
