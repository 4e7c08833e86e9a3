<?php

namespace Acme\Plugin\Content\Hello;

use Acme\Plugin\Content\Hello\Licensing\Client;
use Acme\Plugin\Content\Hello\Licensing\Store;

\defined('_JEXEC') or die;

/** How this extension asks for its licence: the plugin and the field in its options share it. */
final class Licence
{
    const SITE = 'https://shop.example';
    const PRODUCT = 42;

    /** The public keys of the service, as `licensing signing-key list --php` prints them: the current and the next. */
    const KEYS = ['2026-1' => '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'];

    public static function client(): Client
    {
        // Not JPATH_CACHE: the administrator has another one than the site.
        return new Client(self::SITE, self::PRODUCT, self::KEYS, new Store(JPATH_SITE . '/cache/acmehello'));
    }
}
