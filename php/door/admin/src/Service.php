<?php

namespace LicensingGateway\Component\Licensing\Administrator;

use Joomla\CMS\Http\HttpFactory;
use Joomla\CMS\Uri\Uri;

\defined('_JEXEC') or die;

/** The licensing service, which runs next to this site. */
final class Service
{
    const PATH = 'ApiPath';
    const SECONDS = 2;
    const MAX_BYTES = 65536;

    /** The figures that the view shows, in this order. */
    const FIGURES = ['orders_waiting', 'payments_unmatched', 'signatures_refused', 'mails_failed'];

    /** Returns the address of the service, as a visitor of this site requests it. */
    public static function address(): string
    {
        return rtrim(Uri::root(), '/') . self::PATH;
    }

    /**
     * Asks the service what needs the seller's attention.
     *
     * @return array state: `known`, `unreached` (the web server does not forward to it), `refused` or `silent`;
     *               figures by name; enter: the https address that accepts tickets, empty for this site's own
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
                // This limits the whole request. In other transports, Joomla's own timeout applies to each read.
                CURLOPT_TIMEOUT => self::SECONDS,
                CURLOPT_CONNECTTIMEOUT => self::SECONDS,
                CURLOPT_FOLLOWLOCATION => false,
                CURLOPT_NOPROGRESS => false,
                CURLOPT_PROGRESSFUNCTION => function ($handle, $expected, $received) {
                    return $received > self::MAX_BYTES ? 1 : 0;
                },
            ],
        ];
        // Create an instance, because only one of the classes has a static method.
        $factory = class_exists(HttpFactory::class) ? new HttpFactory() : new \Joomla\Http\HttpFactory();
        $response = $factory->getHttp($options, 'curl')
            ->get(self::address() . $path, $headers + ['Accept' => 'application/json'], self::SECONDS);

        return [(int) $response->getStatusCode(), (string) $response->getBody()];
    }
}
