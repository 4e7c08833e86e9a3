<?php

namespace LicensingGateway\Component\Licensing\Administrator;

\defined('_JEXEC') or die;

/** Says to the licensing service who is signed in here. Only this site can make one, by its secret. */
final class Ticket
{
    const SECONDS = 60;

    /**
     * @param string $purpose `enter` or `overview`: a ticket is good for one of them
     * @param string $secret of the site's configuration
     *
     * @return string empty: the site has no secret
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
