<?php

namespace VendorName\Licensing;

/**
 * Verifies signed answers of the service: compact JWS with Ed25519. PHP needs the extension sodium, or sodium_compat,
 * which every Joomla from 4.0 on contains.
 */
final class Token
{
    /** Seconds by which the clocks of the site and the service may differ. */
    const LEEWAY = 300;

    private $keys;

    private $product;

    /**
     * @param string[] $keys    the service's public keys: kid => x, as `licensing signing-key list --php` prints them
     * @param int      $product the product; a token for another product is refused
     */
    public function __construct(array $keys, int $product)
    {
        $this->keys = $keys;
        $this->product = $product;
    }

    /**
     * @param string|null $nonce the nonce of the request; null for a stored token of any request
     *
     * @return array|null the claims; null if they cannot be trusted for this identifier now
     */
    public function claims(string $token, string $identifier, int $now, ?string $nonce = null)
    {
        $parts = explode('.', $token);

        if (count($parts) !== 3) {
            return null;
        }

        $head = $this->json($parts[0]);
        $claims = $this->json($parts[1]);
        $signature = $this->bytes($parts[2]);
        $kid = isset($head['kid']) && is_string($head['kid']) ? $head['kid'] : '';
        $key = isset($this->keys[$kid]) ? $this->bytes($this->keys[$kid]) : '';

        if (
            $claims === null
            || ($head['alg'] ?? null) !== 'EdDSA'
            || ($head['typ'] ?? null) !== 'license+jwt'
            || strlen($key) !== 32
            || strlen($signature) !== 64
            || !$this->isSigned($signature, $parts[0] . '.' . $parts[1], $key)
        ) {
            return null;
        }

        $isNow = is_int($claims['nbf'] ?? null) && is_int($claims['exp'] ?? null)
            && $now >= $claims['nbf'] - self::LEEWAY && $now < $claims['exp'];
        $isOurs = in_array((string) $this->product, (array) ($claims['aud'] ?? []), true)
            && in_array($claims['identifier'] ?? null, $this->spellings($identifier), true);
        $isAsked = $nonce === null || ($claims['nonce'] ?? null) === $nonce;

        return $isNow && $isOurs && $isAsked ? $claims : null;
    }

    /** Returns the possible spellings of the identifier at the service: of a site, a seat, and a device or instance. */
    private function spellings(string $identifier): array
    {
        $text = trim($identifier);
        $host = preg_replace(['#^[a-z][a-z0-9+.-]*://#i', '#^//#', '#[/?\#].*$#s', '#^.*@#s', '#:\d{1,5}$#'], '', $text);
        $host = rtrim($host, '.');

        if (preg_match('/[^\x00-\x7f]/', $host) && \function_exists('idn_to_ascii')) {
            $host = (string) idn_to_ascii($host, 0, INTL_IDNA_VARIANT_UTS46);
        }

        $host = strtolower($host);
        $bare = preg_replace('/^www\./', '', $host);
        $lower = \function_exists('mb_strtolower') ? mb_strtolower($text, 'UTF-8') : strtolower($text);

        return [strpos($bare, '.') === false ? $host : $bare, $lower, $text];
    }

    private function isSigned(string $signature, string $text, string $key): bool
    {
        try {
            if (\function_exists('sodium_crypto_sign_verify_detached')) {
                return sodium_crypto_sign_verify_detached($signature, $text, $key);
            }

            return class_exists('ParagonIE_Sodium_Compat')
                && \ParagonIE_Sodium_Compat::crypto_sign_verify_detached($signature, $text, $key);
        } catch (\Throwable $fault) {
            return false;
        }
    }

    private function json(string $part)
    {
        $value = json_decode($this->bytes($part), true);

        return is_array($value) ? $value : null;
    }

    private function bytes(string $text): string
    {
        if (!preg_match('/^[A-Za-z0-9_-]*$/D', $text)) {
            return '';
        }

        return (string) base64_decode(strtr($text, '-_', '+/'), true);
    }
}
