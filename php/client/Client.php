<?php

namespace VendorName\Licensing;

/**
 * Asks the licence service for one product, without other libraries, from PHP 7.2.5 on.
 *
 *     $client = new Client('https://shop.example', 42, ['2026-1' => '11qYAY...'], new Store(JPATH_SITE . '/cache/acme'));
 *     $client->activate($key, Uri::root());
 *     if ($client->entitled($key, Uri::root())) { ... }
 *
 * No method throws, and no message contains the key.
 */
final class Client
{
    /** Seconds for which a signed answer is good enough without asking again. */
    const FRESH = 86400;

    /** Seconds before the service is asked again that did not answer. */
    const PAUSE = 300;

    /**
     * Seconds by which a site may ask later than it could: of many sites behind one address, all of which were updated in
     * the same minute, each then asks in another one.
     */
    const SPREAD = 21600;

    /** Refusals that say something about the licence. Others, such as a full licence, leave what is known as it is. */
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
     * @param string[]       $keys      the service's public keys: kid => x. Without any, answers are trusted as they come,
     *                                  none is stored, and the licence ends while the service is away
     * @param Store          $store     keeps the last signed answer
     * @param Transport|null $transport sends the requests; null: five seconds, certificates as PHP has them
     * @param callable|null  $clock     Unix seconds; null: the machine's
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
     * Takes a slot for a site. Again for the same site takes no other.
     *
     * @return array `ok`, `status` (of HTTP; 0: no answer), `code` and `message` (of a refusal), `data` (the answer's; of a
     *               refusal, what it tells besides)
     */
    public function activate(string $key, string $identifier, string $name = ''): array
    {
        $fields = $this->fields($key, $identifier) + ($name === '' ? [] : ['name' => $name]);
        $answer = $this->askSigned('activate', $fields);

        $this->keepOrForget($key, $identifier, $answer);

        return $answer;
    }

    /**
     * Asks whether a licence is valid, and whether it is activated for a site, whatever is stored. Returns as `activate`,
     * with `claims`: as `standing` returns them; null without an answer that can be trusted.
     */
    public function validate(string $key, string $identifier): array
    {
        $answer = $this->askSigned('validate', $this->fields($key, $identifier));

        $this->keepOrForget($key, $identifier, $answer);

        if ($answer['claims'] === null && !$this->isRefused($answer)) {
            // Too many sites have asked from here: they shall not come back together.
            $later = $answer['status'] === 429 ? $this->spread($identifier, self::PAUSE) : 0;
            $again = ($this->clock)() + self::PAUSE + $later;
            $this->store->write($this->name($key, $identifier), $this->kept($key, $identifier)['token'] . ' ' . $again);
        }

        return $answer;
    }

    /** Frees the slot of a site. Returns as `activate`. */
    public function deactivate(string $key, string $identifier): array
    {
        $answer = $this->post('/licenses/deactivate', $this->fields($key, $identifier));

        if ($answer['ok']) {
            $this->forget($key, $identifier);
        }

        return $answer;
    }

    /**
     * Asks whether the licence may download a version, and why not: `data` has `allowed`, `code`, `message`, `expires_at`,
     * `version`, `entitled_version`, `renew_url` and `support_url`. Returns as `activate`.
     */
    public function check(string $key, string $version = ''): array
    {
        $query = ['dlid' => $key, 'check' => '1'] + ($version === '' ? [] : ['version' => $version]);

        return $this->get('/downloads/' . $this->product . '?' . http_build_query($query, '', '&', PHP_QUERY_RFC3986));
    }

    /** Asks for the latest published version; needs no key. Returns as `activate`. */
    public function latestVersion(): array
    {
        return $this->get('/updates/' . $this->product);
    }

    /**
     * Whether the licence is valid, covers the product, and is activated for this site. Asks the service at most once a
     * day. While the service is away, or has been asked too often, the last signed answer counts until its end.
     */
    public function entitled(string $key, string $identifier): bool
    {
        return $this->isEntitled($this->standing($key, $identifier));
    }

    /**
     * What is known of the licence: `valid`, `status`, `plan`, `limit`, `activated`, `license_exp` (Unix seconds; null: for
     * life) and, of an answer that was just given, `used`. Null: nothing.
     */
    public function standing(string $key, string $identifier)
    {
        if ($key === '' || $identifier === '') {
            return null;
        }

        $kept = $this->kept($key, $identifier);
        $now = ($this->clock)();

        // A no is soon out of date: the customer renews, or activates the site elsewhere.
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

    /** @return array as of `activate`, with `claims`: of the signed answer; null when it cannot be trusted */
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

        // The token of a licence that does not cover the product is for other products. A no needs no signature.
        $refusal = ($answer['data']['product_covered'] ?? null) === false
            ? ['code' => 'PRODUCT_MISMATCH', 'message' => 'License does not match this product']
            : ['code' => 'NOT_TRUSTED', 'message' => 'The answer is not signed by the vendor.'];

        return ['ok' => false] + $refusal + $answer;
    }

    /** An answer in the shape of claims, where no keys were given. */
    private function unsigned(array $data): array
    {
        $expires = isset($data['expires_at']) ? strtotime((string) $data['expires_at']) : false;

        return [
            'valid' => ($data['valid'] ?? true) === true && ($data['product_covered'] ?? true) === true,
            'status' => $data['status'] ?? null,
            'plan' => $data['plan'] ?? null,
            'limit' => $data['activation_limit'] ?? null,
            'used' => $data['activations_used'] ?? null,
            // An answer to activate has the identifier instead.
            'activated' => ($data['identifier_activated'] ?? isset($data['identifier'])) === true,
            'license_exp' => $expires === false ? null : $expires,
        ];
    }

    /** A clear no. Everything else may be a fault on the way, or passes. */
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

    /** The stored token with its claims, and when the service may be asked again. */
    private function kept(string $key, string $identifier): array
    {
        $parts = explode(' ', $this->store->read($this->name($key, $identifier)));
        $token = $parts[0];
        $claims = $this->token === null || $token === ''
            ? null
            : $this->token->claims($token, $identifier, ($this->clock)());

        return ['token' => $claims === null ? '' : $token, 'claims' => $claims, 'again' => (int) ($parts[1] ?? 0)];
    }

    /** Whether the service was away a moment ago. Who edits the file can make this pause, and not a longer one. */
    private function isPaused(array $kept, int $now): bool
    {
        return $kept['again'] > $now && $kept['again'] <= $now + 2 * self::PAUSE;
    }

    /** The same number of seconds each time for a site, below $most, and another one for most others. */
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
