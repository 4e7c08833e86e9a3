<?php

namespace LicensingGateway\Component\Licensing\Administrator;

\defined('_JEXEC') or die;

/** Creates tickets, which state to the licensing service who is signed in. They are signed with this site's secret. */
final class Ticket
{
    const SECONDS = 60;

    /**
     * @param string $purpose `enter` or `overview`: a ticket is valid for only one of them
     * @param string $secret the secret in the site's configuration
     *
     * @return string the ticket; empty if the site has no secret
     */
    public static function make(string $purpose, int $userId, string $login, string $secret): string
    {
        if ($secret === '') {
            return '';
        }

        $payload = self::encode(json_encode([
            'id' => $userId,
            'name' => $login,
            'expires' => time() + self::SECONDS,
            'nonce' => self::encode(random_bytes(16)),
        ]));
        $key = hash_hkdf('sha256', $secret, 32, 'licensing door ' . $purpose);

        return $payload . '.' . self::encode(hash_hmac('sha256', $payload, $key, true));
    }

    private static function encode(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }
}
