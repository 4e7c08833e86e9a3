<?php

namespace VendorName\Licensing;

/**
 * Asks the licence service about one product. It needs no other libraries, and runs on PHP 7.2.5 and later.
 *
 *     $client = new Client('https://shop.example', 42, ['2026-1' => '11qYAY...'], new Store(JPATH_SITE . '/cache/acme'));
 *     $client->activate($key, Uri::root());
 *     if ($client->entitled($key, Uri::root())) { ... }
 *
 * No method throws, and no message contains the key.
 */
final class Client
{
    /** Seconds for which a signed answer is used without asking again. */
    const FRESH = 86400;

    /** Seconds until the service is asked again after a request without an answer. */
    const PAUSE = 300;

    /**
     * Seconds by which a site may ask later than necessary. Many sites behind one address may be updated in the same
     * minute; this spreads their requests.
     */
    const SPREAD = 21600;

    /** Refusals that concern the licence itself. Other refusals, such as a full licence, leave the stored answer. */
    const REFUSALS = ['LICENSE_NOT_FOUND', 'LICENSE_INACTIVE', 'LICENSE_EXPIRED', 'PRODUCT_MISMATCH'];

    private $service;

    private $product;

    private $token;

    private $store;

    private $transport;

    private $clock;

    /**
     * @param string         $site      the seller's site, such as https://shop.example
     * @param int            $product   the product's id
     * @param string[]       $keys      the service's public keys: kid => x. Without keys, answers are neither verified nor
     *                                  stored, and the licence does not count while the service is away
     * @param Store          $store     stores the last signed answer
     * @param Transport|null $transport sends the requests; null for five seconds, and PHP's own certificates
     * @param callable|null  $clock     returns Unix seconds; null for the machine's clock
     */
    public function __construct(
        string $site,
        int $product,
        array $keys,
        Store $store,
        ?Transport $transport = null,
        ?callable $clock = null
    ) {
        $this->service = rtrim($site, '/') . '/api/index.php/v1/licensing';
        $this->product = $product;
        $this->token = $keys ? new Token($keys, $product) : null;
        $this->store = $store;
        $this->transport = $transport ?: new Transport();
        $this->clock = $clock ?: 'time';
    }

    /**
     * Activates a site, which uses a slot. A repeated call for the same site does not use another slot.
     *
     * @return array `ok`, `status` (of HTTP; 0 without an answer), `code` and `message` (of a refusal), `data` (of the
     *               answer, or the further fields of a refusal)
     */
    public function activate(string $key, string $identifier, string $name = ''): array
    {
        $fields = $this->fields($key, $identifier) + ($name === '' ? [] : ['name' => $name]);
        $answer = $this->askSigned('activate', $fields);

        $this->keepOrForget($key, $identifier, $answer);

        return $answer;
    }

    /**
     * Asks the service, whatever is stored, whether a licence is valid and activated for a site. Returns the fields of
     * `activate`, and `claims` as `standing` returns them, or null without an answer that can be trusted.
     */
    public function validate(string $key, string $identifier): array
    {
        $answer = $this->askSigned('validate', $this->fields($key, $identifier));

        $this->keepOrForget($key, $identifier, $answer);

        if ($answer['claims'] === null && !$this->isRefused($answer)) {
            // Too many sites have asked from this address. Spread their next requests.
            $later = $answer['status'] === 429 ? $this->spread($identifier, self::PAUSE) : 0;
            $again = ($this->clock)() + self::PAUSE + $later;
            $this->store->write($this->name($key, $identifier), $this->kept($key, $identifier)['token'] . ' ' . $again);
        }

        return $answer;
    }

    /** Frees the slot of a site. Returns the fields of `activate`. */
    public function deactivate(string $key, string $identifier): array
    {
        $answer = $this->post('/licenses/deactivate', $this->fields($key, $identifier));

        if ($answer['ok']) {
            $this->forget($key, $identifier);
        }

        return $answer;
    }

    /**
     * Asks whether the licence may download a version, and if not, why. `data` contains `allowed`, `code`, `message`,
     * `expires_at`, `version`, `entitled_version`, `renew_url` and `support_url`. Returns the fields of `activate`.
     */
    public function check(string $key, string $version = ''): array
    {
        $query = ['dlid' => $key, 'check' => '1'] + ($version === '' ? [] : ['version' => $version]);

        return $this->get('/downloads/' . $this->product . '?' . http_build_query($query, '', '&', PHP_QUERY_RFC3986));
    }

    /** Asks for the latest published version, which needs no key. Returns the fields of `activate`. */
    public function latestVersion(): array
    {
        return $this->get('/updates/' . $this->product);
    }

    /**
     * Reports whether the licence is valid, covers the product and is activated for this site. Asks the service at most
     * once a day. While the service is away, or after too many requests, the last signed answer counts until its end.
     */
    public function entitled(string $key, string $identifier): bool
    {
        return $this->isEntitled($this->standing($key, $identifier));
    }

    /**
     * Returns the known facts about the licence: `valid`, `status`, `plan`, `limit`, `activated`, `license_exp` (Unix
     * seconds; null if it never ends) and, directly after a request, `used`. Returns null if nothing is known.
     */
    public function standing(string $key, string $identifier)
    {
        if ($key === '' || $identifier === '') {
            return null;
        }

        $kept = $this->kept($key, $identifier);
        $now = ($this->clock)();

        // A negative answer soon becomes wrong: the customer renews, or activates the site elsewhere.
        $fresh = $this->isEntitled($kept['claims'])
            ? self::FRESH + $this->spread($identifier, self::SPREAD)
            : self::PAUSE;

        $isFresh = $kept['claims'] !== null && $now - $kept['claims']['iat'] < $fresh;

        if ($isFresh || $this->isPaused($kept, $now)) {
            return $kept['claims'];
        }

        $answer = $this->validate($key, $identifier);

        return $answer['claims'] !== null || $this->isRefused($answer) ? $answer['claims'] : $kept['claims'];
    }

    private function fields(string $key, string $identifier): array
    {
        return ['license_key' => $key, 'identifier' => $identifier, 'product_id' => $this->product];
    }

    /** @return array the fields of `activate`, and the `claims` of the signed answer; null if it cannot be trusted */
    private function askSigned(string $verb, array $fields): array
    {
        $nonce = bin2hex(random_bytes(16));
        $signed = $this->token === null ? [] : ['signed' => true, 'nonce' => $nonce];
        $answer = $this->post('/licenses/' . $verb, $fields + $signed) + ['claims' => null];

        if (!$answer['ok']) {
            return $answer;
        }

        if ($this->token === null) {
            $answer['claims'] = $this->unsigned($answer['data']);

            return $answer;
        }

        $token = $answer['data']['token'] ?? null;
        $claims = is_string($token)
            ? $this->token->claims($token, $fields['identifier'], ($this->clock)(), $nonce)
            : null;

        if ($claims !== null) {
            $answer['claims'] = $claims + ['used' => $answer['data']['activations_used'] ?? null];

            return $answer;
        }

        // A licence that does not cover the product has a token for other products. A refusal needs no signature.
        $refusal = ($answer['data']['product_covered'] ?? null) === false
            ? ['code' => 'PRODUCT_MISMATCH', 'message' => 'License does not match this product']
            : ['code' => 'NOT_TRUSTED', 'message' => 'The answer is not signed by the vendor.'];

        return ['ok' => false] + $refusal + $answer;
    }

    /** Returns an unsigned answer in the form of claims, for a client without keys. */
    private function unsigned(array $data): array
    {
        $expires = isset($data['expires_at']) ? strtotime((string) $data['expires_at']) : false;

        return [
            'valid' => ($data['valid'] ?? true) === true && ($data['product_covered'] ?? true) === true,
            'status' => $data['status'] ?? null,
            'plan' => $data['plan'] ?? null,
            'limit' => $data['activation_limit'] ?? null,
            'used' => $data['activations_used'] ?? null,
            // The answer to activate contains the identifier instead.
            'activated' => ($data['identifier_activated'] ?? isset($data['identifier'])) === true,
            'license_exp' => $expires === false ? null : $expires,
        ];
    }

    /** Reports whether the service definitely refused. Any other fault may come from the network, or be temporary. */
    private function isRefused(array $answer): bool
    {
        return in_array($answer['code'], self::REFUSALS, true);
    }

    private function post(string $path, array $fields): array
    {
        return $this->read($this->transport->send($this->service . $path, $fields));
    }

    private function get(string $path): array
    {
        return $this->read($this->transport->send($this->service . $path));
    }

    private function read($answer): array
    {
        $nothing = [
            'ok' => false,
            'status' => 0,
            'code' => null,
            'message' => 'The licence service does not answer. Try again later.',
            'data' => [],
        ];

        if ($answer === null) {
            return $nothing;
        }

        list($status, $body) = $answer;
        $json = json_decode($body, true);

        if ($status === 200 && is_array($json) && is_array($json['data'] ?? null)) {
            return ['ok' => true, 'status' => 200, 'code' => null, 'message' => '', 'data' => $json['data']];
        }

        $error = is_array($json) ? ($json['error'] ?? null) : null;

        if ($status >= 400 && is_array($error) && is_string($error['code'] ?? null)) {
            $message = is_string($error['message'] ?? null) ? $error['message'] : '';

            return ['status' => $status, 'code' => $error['code'], 'message' => $message, 'data' => $error] + $nothing;
        }

        return ['status' => $status] + $nothing;
    }

    /** Returns the stored token with its claims, and the time from which the service may be asked again. */
    private function kept(string $key, string $identifier): array
    {
        $parts = explode(' ', $this->store->read($this->name($key, $identifier)));
        $token = $parts[0];
        $claims = $this->token === null || $token === ''
            ? null
            : $this->token->claims($token, $identifier, ($this->clock)());

        return ['token' => $claims === null ? '' : $token, 'claims' => $claims, 'again' => (int) ($parts[1] ?? 0)];
    }

    /** Reports whether the service was away a moment ago. An edited file can cause this pause, but not a longer one. */
    private function isPaused(array $kept, int $now): bool
    {
        return $kept['again'] > $now && $kept['again'] <= $now + 2 * self::PAUSE;
    }

    /** Returns seconds below $most, always the same for a site, and different for most other sites. */
    private function spread(string $identifier, int $most): int
    {
        return hexdec(substr(md5($identifier), 0, 7)) % $most;
    }

    private function isEntitled($claims): bool
    {
        return is_array($claims) && ($claims['valid'] ?? null) === true && ($claims['activated'] ?? null) === true;
    }

    private function keepOrForget(string $key, string $identifier, array $answer)
    {
        if ($this->token !== null && $answer['claims'] !== null) {
            $this->store->write($this->name($key, $identifier), $answer['data']['token']);
        } elseif ($this->isRefused($answer)) {
            $this->forget($key, $identifier);
        }
    }

    private function forget(string $key, string $identifier)
    {
        $this->store->write($this->name($key, $identifier), '');
    }

    private function name(string $key, string $identifier): string
    {
        return implode("\n", [$this->service, $this->product, $key, $identifier]);
    }
}
