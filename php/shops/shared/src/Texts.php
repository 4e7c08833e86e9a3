<?php

namespace LicensingGateway\Plugin\System\ShopClass;

use Joomla\CMS\Factory;
use Joomla\CMS\Language\LanguageFactoryInterface;

\defined('_JEXEC') or die;

/** The plugin's texts: in German for German language tags, otherwise in English. A site's language overrides apply. */
final class Texts
{
    private static $languages = [];

    public static function word(string $name, string $tag): string
    {
        $tag = strpos($tag, 'de') === 0 ? 'de-DE' : 'en-GB';

        if (!isset(self::$languages[$tag])) {
            $language = Factory::getContainer()->get(LanguageFactoryInterface::class)->createLanguage($tag);
            $language->load('plg_system_shopplugin', JPATH_PLUGINS . '/system/shopplugin', $tag, true, false);
            self::$languages[$tag] = $language;
        }

        return self::$languages[$tag]->_('PLG_SYSTEM_SHOPPLUGIN_' . $name);
    }

    /**
     * Returns the texts about an order's keys for the customer.
     *
     * @param array|null $lines the lines of the service's answer; null without an answer
     * @param array $names the names of the articles, by line
     * @return string[] one text for each key
     */
    public static function ofKeys($lines, array $names, string $tag): array
    {
        $said = [];
        $isPrepared = true;

        foreach ($lines ?? [] as $line) {
            $isPrepared = $isPrepared && ($line['action'] ?? '') !== 'waiting';

            foreach ($line['licenses'] ?? [] as $license) {
                $key = $license['license_key'] ?? null;

                if (!is_string($key) || !in_array($license['status'] ?? '', ['active', 'expired'], true)) {
                    continue;
                }

                $end = is_string($license['expires_at'] ?? null) ? strtotime($license['expires_at']) : false;
                $until = $end === false
                    ? ''
                    : ' (' . sprintf(self::word('VALID_UNTIL', $tag), gmdate(self::word('DATE_FORMAT', $tag), $end)) . ')';
                $name = (string) ($names[$line['line']] ?? '');
                $said[] = ($name === '' ? '' : $name . ': ') . $key . $until;
            }
        }

        if ($lines === null || !$isPrepared) {
            $said[] = self::word('KEY_FOLLOWS', $tag);
        }

        return $said;
    }

    /** @param string[] $said */
    public static function asHtml(array $said, string $tag): string
    {
        $items = '';

        foreach ($said as $text) {
            $items .= '<br>' . htmlspecialchars($text, ENT_QUOTES, 'UTF-8');
        }

        return '<p><strong>' . htmlspecialchars(self::word('YOUR_KEYS', $tag), ENT_QUOTES, 'UTF-8') . '</strong>'
            . $items . '</p>';
    }

    /** @param string[] $said */
    public static function asText(array $said, string $tag): string
    {
        return self::word('YOUR_KEYS', $tag) . "\n" . implode("\n", $said) . "\n";
    }

    /** Inserts a text at the template's mark, otherwise at the end, inside the body of HTML. */
    public static function insert(string $body, string $mark, string $text, bool $isHtml): string
    {
        if (strpos($body, $mark) !== false) {
            return str_replace($mark, $text, $body);
        }

        if ($text === '') {
            return $body;
        }

        $end = $isHtml ? strripos($body, '</body>') : false;

        return $end === false ? "$body\n$text" : substr_replace($body, $text, $end, 0);
    }
}
