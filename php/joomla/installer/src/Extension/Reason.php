<?php

namespace VendorName\Plugin\Installer\Licence0\Extension;

use Joomla\CMS\Event\Installer\BeforePackageDownloadEvent;
use Joomla\CMS\Event\Installer\BeforeUpdateSiteDownloadEvent;
use Joomla\CMS\Http\HttpFactory;
use Joomla\CMS\Plugin\CMSPlugin;
use Joomla\CMS\Plugin\PluginHelper;
use Joomla\CMS\Uri\Uri;
use Joomla\Database\DatabaseAwareTrait;
use Joomla\Event\EventInterface;
use Joomla\Event\SubscriberInterface;
use VendorName\Plugin\Installer\Licence0\Product;

\defined('_JEXEC') or die;

/**
 * Shows why a download of the product is refused, and how to fix it. Joomla itself shows only the status of the answer.
 * From Joomla 5.3 on, it offers a site whose licence has ended the last version that the licence covers.
 *
 * It never stops or changes a download. Without a clear answer of the vendor's server it shows and changes nothing.
 */
final class Reason extends CMSPlugin implements SubscriberInterface
{
    use DatabaseAwareTrait;

    const SECONDS = 5;
    const MAX_BYTES = 65536;
    const MAX_MESSAGE = 300;

    /** The refusals with a sentence in the language files, and the links below each. */
    const REMEDIES = [
        'KEY_MISSING' => ['UPDATE_SITES'],
        'LICENSE_NOT_FOUND' => ['UPDATE_SITES', 'HELP'],
        'PRODUCT_MISMATCH' => ['UPDATE_SITES', 'UPGRADE', 'HELP'],
        'LICENSE_INACTIVE' => ['HELP'],
        'LICENSE_EXPIRED' => ['RENEW', 'HELP'],
        'ACTIVATION_NOT_FOUND' => ['UPGRADE', 'HELP'],
        'ACTIVATION_LIMIT_REACHED' => ['UPGRADE', 'HELP'],
        'DOWNLOAD_NOT_FOUND' => ['HELP'],
        'FILE_NOT_FOUND' => ['HELP'],
    ];

    /** The fields of the answer that contain the addresses of remedies. */
    const ADDRESSES = ['RENEW' => 'renew_url', 'UPGRADE' => 'upgrade_url', 'HELP' => 'support_url'];

    public static function getSubscribedEvents(): array
    {
        return [
            'onInstallerBeforePackageDownload' => 'explain',
            'onInstallerBeforeUpdateSiteDownload' => 'offerLast',
        ];
    }

    /**
     * Lets Joomla read the update XML of the last covered version instead of the ordinary one, whose version is
     * refused. The system plugin does the same for the Update button, which reads the XML again at the stored address.
     */
    public function offerLast(EventInterface $event): void
    {
        try {
            $isOwn = $event instanceof BeforeUpdateSiteDownloadEvent
                && Product::UPDATES !== '' && $event->getUrl() === Product::UPDATES;

            if (!$isOwn) {
                return;
            }

            $version = $this->lastCovered();
            $address = $version === ''
                ? ''
                : preg_replace('/\.xml$/', '', Product::UPDATES) . '/up-to-' . rawurlencode($version) . '.xml';
            $this->rememberLast($version, $address);

            if ($address !== '') {
                $event->updateUrl($address);
            }
        } catch (\Throwable $fault) {
            // Joomla reads the ordinary update XML.
        }
    }

    /** Returns the version to offer to a licence that has ended; empty for the ordinary offer. */
    private function lastCovered(): string
    {
        $key = $this->storedKey();
        $port = (int) Product::PORT === 443 ? '' : ':' . Product::PORT;
        $address = 'https://' . Product::HOST . $port . Product::PATH . '?' . $key;
        $answer = $this->hasKey($address) ? $this->ask($address) : null;

        if ($answer === null) {
            return '';
        }

        $end = is_string($answer['expires_at'] ?? null) ? strtotime($answer['expires_at']) : false;
        $last = $this->version($answer['entitled_version'] ?? null);
        $latest = $this->version($answer['latest'] ?? null);
        $installed = $this->installedVersion();
        // A site that has the free security release is not offered what its licence does not cover.
        $isFix = ($answer['entitled_security'] ?? null) === true;
        $isForIt = $end !== false && $end < time()
            && $last !== '' && $latest !== '' && $installed !== ''
            // Never offer an older version than the installed one.
            && version_compare($last, $installed, $isFix ? '>=' : '>') && version_compare($last, $latest, '<');

        return $isForIt ? $last : '';
    }

    /** Returns the text that Joomla adds to the download address, such as `dlid=KEY`. */
    private function storedKey(): string
    {
        $db = $this->getDatabase();

        return (string) $db->setQuery(
            'SELECT extra_query FROM #__update_sites WHERE location = ' . $db->quote(Product::UPDATES)
            . ' AND extra_query <> ' . $db->quote('') . ' ORDER BY update_site_id DESC LIMIT 1'
        )->loadResult();
    }

    /** Stores the offer in the plugin's own row of #__extensions, for the system plugin. */
    private function rememberLast(string $version, string $address): void
    {
        $db = $this->getDatabase();
        $own = ' WHERE type = ' . $db->quote('plugin') . ' AND folder = ' . $db->quote('installer')
            . ' AND element = ' . $db->quote('vendorlicence0');
        $before = (string) $db->setQuery('SELECT custom_data FROM #__extensions' . $own)->loadResult();
        $data = $version === '' ? '' : json_encode(['version' => $version, 'address' => $address]);

        if ($before === $data) {
            return;
        }

        $db->setQuery('UPDATE #__extensions SET custom_data = ' . $db->quote($data) . $own)->execute();
        $earlier = (string) (json_decode($before, true)['address'] ?? '');

        if ($earlier !== '') {
            // Updates that were found at the earlier address get the ordinary one.
            $db->setQuery(
                'UPDATE #__updates SET detailsurl = ' . $db->quote(Product::UPDATES)
                . ' WHERE detailsurl = ' . $db->quote($earlier)
            )->execute();
        }
    }

    public function explain(EventInterface $event): void
    {
        try {
            // Joomla 4.4 has no class for this event.
            $isTyped = $event instanceof BeforePackageDownloadEvent;
            $address = $this->ownAddress((string) ($isTyped ? $event->getUrl() : $event->getArgument(0)));

            if ($address === null) {
                return;
            }

            $this->tellSite($event, $isTyped);
            $answer = $this->hasKey($address) ? $this->ask($address) : ['allowed' => false, 'code' => 'KEY_MISSING'];

            if ($answer !== null && $answer['allowed'] === false) {
                $this->getApplication()->enqueueMessage($this->describe($answer), 'error');
            }
        } catch (\Throwable $fault) {
            // Joomla's own message must suffice.
        }
    }

    /** Returns the address if it is the product's download address, otherwise null. */
    private function ownAddress(string $address)
    {
        // If the address has a query, Joomla adds the key with a literal "&amp;".
        $address = str_replace('&amp;', '&', $address);
        $parts = preg_match('/[\x00-\x20\x7f]/', $address) ? false : parse_url($address);

        if (
            !$parts
            || strtolower($parts['scheme'] ?? '') !== 'https'
            || isset($parts['user'])
            || strtolower($parts['host'] ?? '') !== Product::HOST
            || ($parts['port'] ?? 443) !== (int) Product::PORT
            || !in_array($parts['path'] ?? '', [Product::PATH, Product::PATH . '/'], true)
        ) {
            return null;
        }

        return explode('#', $address)[0];
    }

    private function hasKey(string $address): bool
    {
        parse_str((string) parse_url($address, PHP_URL_QUERY), $query);

        foreach (['dlid', 'license_key'] as $name) {
            if (is_string($query[$name] ?? null) && trim($query[$name]) !== '') {
                return true;
            }
        }

        return false;
    }

    /** Sends the vendor the site's address and its version, unless the plugin's option disables it. */
    private function tellSite(EventInterface $event, bool $isTyped): void
    {
        // Do not read the option from the parent class: Joomla may create the plugin without its constructor.
        $own = PluginHelper::getPlugin('installer', 'vendorlicence0');

        if (!(json_decode((string) ($own->params ?? ''), true)['tell_site'] ?? 1)) {
            return;
        }

        $headers = array_filter([
            'X-Licensing-Site' => $this->cleaned(rtrim(Uri::root(), '/'), 255),
            'X-Licensing-Version' => $this->cleaned($this->installedVersion(), 64),
        ], 'strlen');

        if ($isTyped) {
            $event->updateHeaders($headers + $event->getHeaders());
        } else {
            // The arguments are references to the variables of the download.
            $arguments = $event->getArguments();
            $arguments[1] = $headers + (array) $arguments[1];
        }
    }

    private function cleaned(string $text, int $length): string
    {
        return substr(preg_replace('/[^\x21-\x7e]/', '', $text), 0, $length);
    }

    private function installedVersion(): string
    {
        $db = $this->getDatabase();
        $manifest = $db->setQuery(
            'SELECT manifest_cache FROM #__extensions WHERE type = ' . $db->quote(Product::TYPE)
            . ' AND element = ' . $db->quote(Product::ELEMENT)
            . ' AND folder = ' . $db->quote(Product::FOLDER)
            . ' AND client_id = ' . (int) Product::CLIENT
        )->loadResult();

        return (string) (json_decode((string) $manifest, true)['version'] ?? '');
    }

    /** Returns the verdict on the download; null without a clear answer. */
    private function ask(string $address)
    {
        $options = [
            'follow_location' => false,
            'transport.curl' => [
                // This limits the whole request. In other transports, Joomla's own timeout applies to each read.
                CURLOPT_TIMEOUT => self::SECONDS,
                CURLOPT_CONNECTTIMEOUT => self::SECONDS,
                CURLOPT_FOLLOWLOCATION => false,
                CURLOPT_PROTOCOLS => CURLPROTO_HTTPS,
                CURLOPT_NOPROGRESS => false,
                CURLOPT_PROGRESSFUNCTION => function ($handle, $expected, $received) {
                    return $received > self::MAX_BYTES ? 1 : 0;
                },
            ],
        ];
        // Create an instance, because only one of the classes has a static method.
        $factory = class_exists(HttpFactory::class) ? new HttpFactory() : new \Joomla\Http\HttpFactory();
        $joined = $address . (strpos($address, '?') === false ? '?' : '&') . 'check=1';
        $response = $factory->getHttp($options, 'curl')->get($joined, ['Accept' => 'application/json'], self::SECONDS);
        $body = (string) $response->getBody();

        if ($response->getStatusCode() !== 200 || strlen($body) > self::MAX_BYTES) {
            return null;
        }

        $answer = json_decode($body, true)['data'] ?? null;

        return is_array($answer) && is_bool($answer['allowed'] ?? null) ? $answer : null;
    }

    /** Returns the message for the administrator: HTML with links in the administrator area, text elsewhere. */
    private function describe(array $answer): string
    {
        $code = is_string($answer['code'] ?? null) ? $answer['code'] : '';
        $version = $this->version($answer['version'] ?? null);
        $entitled = $this->version($answer['entitled_version'] ?? null);
        $latest = $this->version($answer['latest'] ?? null);
        $sentences = [$this->sentence($code, $answer, $version)];

        if ($latest !== '' && ($answer['security'] ?? null) === true) {
            $sentences[] = sprintf($this->word('SECURITY'), $latest);
        }

        $isFree = ($answer['entitled_security'] ?? null) === true;

        if ($entitled !== '' && $entitled !== $version) {
            $sentences[] = sprintf($this->word($isFree ? 'SECURITY_FREE' : 'STILL_COVERED'), $entitled);
        }

        $isPage = $this->getApplication()->isClient('administrator');
        $links = [];

        foreach (array_merge($isFree ? ['MY_PAGE'] : [], self::REMEDIES[$code] ?? ['RENEW', 'HELP']) as $name) {
            $address = $this->remedyAddress($name, $answer, $isPage);

            if ($address !== '') {
                $links[] = $isPage
                    ? '<a href="' . $this->escape($address) . '" rel="noopener">' . $this->escape($this->word($name)) . '</a>'
                    : $this->word($name) . ': ' . $address;
            }
        }

        $text = Product::NAME . ': ' . implode(' ', $sentences);

        return ($isPage ? $this->escape($text) : $text) . ($links ? ' ' . implode(' | ', $links) : '');
    }

    private function sentence(string $code, array $answer, string $version): string
    {
        if (!isset(self::REMEDIES[$code])) {
            $message = is_string($answer['message'] ?? null) ? trim($answer['message']) : '';
            $message = preg_replace('/[\x00-\x1f\x7f]+/', ' ', $message);

            return $message === ''
                ? $this->word('REFUSED')
                : sprintf($this->word('SAYS'), $this->beginning($message));
        }

        $expires = is_string($answer['expires_at'] ?? null) ? strtotime($answer['expires_at']) : false;

        if ($code === 'LICENSE_EXPIRED') {
            return $expires === false
                ? $this->word('LICENSE_EXPIRED')
                : sprintf($this->word('LICENSE_EXPIRED_ON'), gmdate($this->word('DATE_FORMAT'), $expires));
        }

        return $version !== '' && in_array($code, ['DOWNLOAD_NOT_FOUND', 'FILE_NOT_FOUND'], true)
            ? sprintf($this->word($code . '_VERSION'), $version)
            : $this->word($code);
    }

    private function remedyAddress(string $name, array $answer, bool $isPage): string
    {
        if ($name === 'UPDATE_SITES') {
            return $isPage ? 'index.php?option=com_installer&view=updatesites' : '';
        }

        if ($name === 'MY_PAGE') {
            $port = (int) Product::PORT === 443 ? '' : ':' . Product::PORT;

            return 'https://' . Product::HOST . $port . preg_replace('#/downloads/\d+$#', '/pages/my', Product::PATH);
        }

        $address = $answer[self::ADDRESSES[$name]] ?? null;

        return is_string($address) && preg_match('#^https://[^\s"\'<>\\\\]{1,500}$#iu', $address) ? $address : '';
    }

    private function version($text): string
    {
        return is_string($text) && preg_match('/^[0-9A-Za-z.+~_-]{1,64}$/D', $text) ? $text : '';
    }

    private function beginning(string $text): string
    {
        return preg_match('/^.{' . self::MAX_MESSAGE . '}(?=.)/us', $text, $cut) ? $cut[0] . '...' : $text;
    }

    private function escape(string $text): string
    {
        return htmlspecialchars($text, ENT_QUOTES, 'UTF-8');
    }

    /** Returns a text in German for an administrator who reads German, otherwise in English. */
    private function word(string $name): string
    {
        $language = $this->getApplication()->getLanguage();
        $key = 'PLG_INSTALLER_VENDORLICENCE0_' . $name;

        if (!$language->hasKey($key)) {
            $tag = strpos($language->getTag(), 'de') === 0 ? 'de-DE' : 'en-GB';
            $folder = JPATH_PLUGINS . '/installer/vendorlicence0';
            $language->load('plg_installer_vendorlicence0', $folder, $tag, true, false);
        }

        return $language->_($key);
    }
}
