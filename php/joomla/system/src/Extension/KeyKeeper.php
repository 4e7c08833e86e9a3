<?php

namespace VendorName\Plugin\System\Licence0\Extension;

use Joomla\CMS\Plugin\CMSPlugin;
use Joomla\Database\DatabaseAwareTrait;
use Joomla\Event\SubscriberInterface;
use VendorName\Plugin\System\Licence0\Product;

\defined('_JEXEC') or die;

/**
 * Remembers the Download Key of the product's update site, and restores it when Joomla loses it: after Rebuild, or
 * after an update that changes the update server's address (Joomla 4.4 to 5.3.0). Also lets Joomla fetch the last
 * version that a licence covers from the address at which it was found.
 *
 * This is a system plugin, because Joomla 4.4 loads the installer group neither for Rebuild nor for the search for
 * updates. The copy is in the plugin's own row of #__extensions, and is deleted with it.
 */
final class KeyKeeper extends CMSPlugin implements SubscriberInterface
{
    use DatabaseAwareTrait;

    /** The text that Joomla stores when the administrator empties the field. A key that Joomla lost is an empty text. */
    const EMPTIED = 'dlid=';

    public static function getSubscribedEvents(): array
    {
        return [
            'onAfterInitialise' => 'keep',
            'console.before_command_execute' => 'keep',
        ];
    }

    /** Runs in the administrator area, the API and on the command line, where Joomla finds and installs updates. */
    public function keep(): void
    {
        $app = $this->getApplication();

        // Tools that manage many sites update through the API.
        if (!$app->isClient('administrator') && !$app->isClient('cli') && !$app->isClient('api')) {
            return;
        }

        try {
            $this->compare();
        } catch (\Throwable $fault) {
            // The administrator area must work without this plugin too. The next request tries again.
        }
    }

    private function compare(): void
    {
        $rows = $this->readSites();

        if (!$rows) {
            return;
        }

        $this->pointAtLast(json_decode((string) $rows[0]->covered, true));
        $stored = json_decode((string) $rows[0]->custom_data, true);
        $kept = (string) ($stored['extra_query'] ?? '');
        $sites = [];
        // Up to Joomla 5.3.0, a changed address adds an update site. The latest update site with a key decides.
        $latest = '';

        foreach ($rows as $row) {
            if ($row->update_site_id === null) {
                continue;
            }

            $sites[] = $row;
            $latest = (string) $row->extra_query === '' ? $latest : $row->extra_query;
        }

        if ($rows[0]->extension_id === null) {
            // The product is no longer installed.
            $this->remember($kept, '', $rows[0]->own_id);
        } elseif ($latest === '') {
            $this->putBack($sites, $kept);
        } elseif (trim($latest) === self::EMPTIED) {
            $this->remember($kept, '', $rows[0]->own_id);
        } else {
            $this->remember($kept, $latest, $rows[0]->own_id);
            $this->putBack($sites, $latest);
        }
    }

    /** Returns this plugin's row for each update site of the product, by id; one row without a site if none exists. */
    private function readSites(): array
    {
        $db = $this->getDatabase();

        return $db->setQuery(
            'SELECT own.extension_id AS own_id, own.custom_data, product.extension_id,'
            . ' site.update_site_id, site.extra_query, reason.custom_data AS covered'
            . ' FROM #__extensions AS own'
            . ' LEFT JOIN #__extensions AS reason ON reason.type = ' . $db->quote('plugin')
            . ' AND reason.folder = ' . $db->quote('installer') . ' AND reason.element = own.element'
            . ' LEFT JOIN #__extensions AS product ON product.type = ' . $db->quote(Product::TYPE)
            . ' AND product.element = ' . $db->quote(Product::ELEMENT)
            . ' AND product.folder = ' . $db->quote(Product::FOLDER)
            . ' AND product.client_id = ' . (int) Product::CLIENT
            . ' LEFT JOIN #__update_sites_extensions AS link ON link.extension_id = product.extension_id'
            . ' LEFT JOIN #__update_sites AS site ON site.update_site_id = link.update_site_id'
            . ' WHERE own.type = ' . $db->quote('plugin') . ' AND own.folder = ' . $db->quote('system')
            . ' AND own.element = ' . $db->quote('vendorlicence0')
            . ' ORDER BY site.update_site_id'
        )->loadObjectList();
    }

    /**
     * Restores the address of the last covered version. From 5.3.1 on, Joomla stores the ordinary address with every
     * update. The Update button reads the stored address, and would fetch a version that the licence does not cover.
     */
    private function pointAtLast($covered): void
    {
        $version = $covered['version'] ?? null;
        $address = $covered['address'] ?? null;

        if (!is_string($version) || !is_string($address)) {
            return;
        }

        $db = $this->getDatabase();
        $db->setQuery(
            'UPDATE #__updates SET detailsurl = ' . $db->quote($address)
            . ' WHERE type = ' . $db->quote(Product::TYPE) . ' AND element = ' . $db->quote(Product::ELEMENT)
            . ' AND folder = ' . $db->quote(Product::FOLDER) . ' AND client_id = ' . (int) Product::CLIENT
            . ' AND version = ' . $db->quote($version) . ' AND detailsurl <> ' . $db->quote($address)
        )->execute();
    }

    private function remember(string $before, string $key, $ownId): void
    {
        if ($key === $before) {
            return;
        }

        $db = $this->getDatabase();
        $data = $key === '' ? '' : json_encode(['extra_query' => $key]);
        $db->setQuery(
            'UPDATE #__extensions SET custom_data = ' . $db->quote($data) . ' WHERE extension_id = ' . (int) $ownId
        )->execute();
    }

    private function putBack(array $sites, string $key): void
    {
        if ($key === '') {
            return;
        }

        $db = $this->getDatabase();

        foreach ($sites as $site) {
            if ((string) $site->extra_query !== '') {
                continue;
            }

            // An administrator may have entered a key since the rows were read.
            $db->setQuery(
                'UPDATE #__update_sites SET extra_query = ' . $db->quote($key)
                . ' WHERE update_site_id = ' . (int) $site->update_site_id
                . ' AND (extra_query IS NULL OR extra_query = ' . $db->quote('') . ')'
            )->execute();
        }
    }
}
