<?php

namespace LicensingGateway\Plugin\System\ShopClass;

use Joomla\CMS\Http\HttpFactory;

\defined('_JEXEC') or die;

/** The connection from this shop to the licensing service. */
final class Service
{
    const MAX_BYTES = 1048576;

    private $address;
    private $token;

    /** @param string $site the site of the service, from the settings */
    public function __construct(string $site, string $token)
    {
        $path = 'ApiPath';
        $site = rtrim(trim($site), '/');
        $this->address = substr($site, -strlen($path)) === $path ? $site : $site . $path;
        $this->token = trim($token);
    }

    /** Returns the name of a text about a missing setting; empty if no setting is missing. */
    public function missing(): string
    {
        // The token must not be sent unencrypted. A service on this machine is as safe as the machine.
        if (!preg_match('#^https://[^/@\s]+/|^http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?/#', $this->address)) {
            return 'NO_ADDRESS';
        }

        // A browser may have filled in a password, which must not be sent.
        return preg_match('/^lgw_[A-Za-z0-9_-]{49}$/D', $this->token) ? '' : 'NO_TOKEN';
    }

    /**
     * Posts an event of an order.
     *
     * @return array status (0 without an answer), lines of the answer, seconds to wait before a new try, error as text
     */
    public function post(array $message, int $seconds): array
    {
        $options = [
            'follow_location' => false,
            'transport.curl' => [
                // This limits the whole request. In other transports, Joomla's own timeout applies to each read.
                CURLOPT_TIMEOUT => $seconds,
                CURLOPT_CONNECTTIMEOUT => $seconds,
                CURLOPT_FOLLOWLOCATION => false,
                CURLOPT_NOPROGRESS => false,
                CURLOPT_PROGRESSFUNCTION => function ($handle, $expected, $received) {
                    return $received > self::MAX_BYTES ? 1 : 0;
                },
            ],
        ];
        $headers = [
            'Accept' => 'application/json',
            'Authorization' => 'Bearer ' . $this->token,
            'Content-Type' => 'application/json',
        ];
        $text = json_encode($message, JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE);

        try {
            // Create an instance, because only one of the classes has a static method.
            $factory = class_exists(HttpFactory::class) ? new HttpFactory() : new \Joomla\Http\HttpFactory();
            $http = $factory->getHttp($options, 'curl');
            $response = $http->post($this->address . '/manage/orders', $text, $headers, $seconds);
        } catch (\Throwable $fault) {
            return $this->answer(0, null, 0, $fault->getMessage());
        }

        $status = (int) $response->getStatusCode();
        $body = json_decode((string) $response->getBody(), true);
        $lines = $body['data']['lines'] ?? null;

        if ($status === 200 && is_array($lines)) {
            return $this->answer(200, $lines, 0, '');
        }

        $error = $body['error'] ?? null;
        $said = is_string($error['message'] ?? null) ? $error['message'] : '';
        $said .= is_string($error['field'] ?? null) ? " ($error[field])" : '';
        $wait = (int) $response->getHeaderLine('Retry-After');

        // Another server's answer, such as a proxy's page, is not a verdict on the order.
        return $this->answer($error === null ? 0 : $status, null, $wait, trim("$status $said"));
    }

    private function answer(int $status, $lines, int $wait, string $error): array
    {
        return [
            'status' => $status,
            'lines' => $lines,
            'wait' => $wait,
            'error' => $this->token === '' ? $error : str_replace($this->token, '...', $error),
        ];
    }
}
