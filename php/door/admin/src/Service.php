<?php

namespace LicensingGateway\Component\Licensing\Administrator;

use Joomla\CMS\Http\HttpFactory;
use Joomla\CMS\Uri\Uri;

\defined('_JEXEC') or die;

/** The licensing service, beside this site. */
final class Service
{
    const PATH = 'ApiPath';
    const SECONDS = 2;
    const MAX_BYTES = 65536;

    /** What the view shows of it, in this order. */
    const FIGURES = ['orders_waiting', 'payments_unmatched', 'signatures_refused', 'mails_failed'];

    /** Where the service is, as a visitor of this site sees it. */
    public static function address(): string
    {
        return rtrim(Uri::root(), '/') . self::PATH;
    }

    /**
     * Asks what needs the seller.
     *
     * @return array state: `known`, `unreached` (the web server does not lead to it), `refused` or `silent`;
     *               figures by name; enter: the https address that takes tickets, empty: that of this site
     */
    public static function overview(string $ticket): array
    {
        try {
            list($status, $body) = self::get('/manage/overview', ['X-Licensing-Ticket' => $ticket]);
        } catch (\Throwable $fault) {
            return self::found('silent');
        }

        $answer = strlen($body) > self::MAX_BYTES ? null : json_decode($body, true);
        $isOwn = is_array($answer) && is_string($answer['error']['code'] ?? null);

        if ($status === 404 && !$isOwn) {
            return self::found('unreached');
        }

        if ($isOwn && in_array($status, [401, 403], true)) {
            return self::found('refused');
        }

        $data = $answer['data'] ?? null;

        return $status === 200 && is_array($data) ? self::read($data) : self::found('silent');
    }

    private static function read(array $data): array
    {
        $figures = [];

        foreach (self::FIGURES as $name) {
            if (!is_int($data[$name] ?? null)) {
                return self::found('silent');
            }

            $figures[$name] = $data[$name];
        }

        $enter = $data['enter_url'] ?? null;
        $isAddress = is_string($enter) && preg_match('#^https://[^\s"\'<>\\\\@]{1,500}$#iD', $enter);

        return self::found('known', $figures, $isAddress ? $enter : '');
    }

    private static function found(string $state, array $figures = [], string $enter = ''): array
    {
        return ['state' => $state, 'figures' => $figures, 'enter' => $enter];
    }

    /** @return array status and body */
    private static function get(string $path, array $headers): array
    {
        $options = [
            'follow_location' => false,
            'transport.curl' => [
                // For the whole request: Joomla's own time-out of other transports is for each read.
                CURLOPT_TIMEOUT => self::SECONDS,
                CURLOPT_CONNECTTIMEOUT => self::SECONDS,
                CURLOPT_FOLLOWLOCATION => false,
                CURLOPT_NOPROGRESS => false,
                CURLOPT_PROGRESSFUNCTION => function ($handle, $expected, $received) {
                    return $received > self::MAX_BYTES ? 1 : 0;
                },
            ],
        ];
        // An instance, because the method is static in one class and not in the other.
        $factory = class_exists(HttpFactory::class) ? new HttpFactory() : new \Joomla\Http\HttpFactory();
        $response = $factory->getHttp($options, 'curl')
            ->get(self::address() . $path, $headers + ['Accept' => 'application/json'], self::SECONDS);

        return [(int) $response->getStatusCode(), (string) $response->getBody()];
    }
}
