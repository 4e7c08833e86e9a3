<?php

namespace VendorName\Licensing;

/** Sends a request, and limits its time and the size of the answer. It follows no redirects. */
class Transport
{
    const MAX_BYTES = 65536;

    /** The name for firewalls that refuse requests without one. Joomla sends its own. */
    const NAME = 'licensing-php';

    private $seconds;

    private $caFile;

    /**
     * @param int         $seconds the timeout of a whole request
     * @param string|null $caFile  the authorities of the service's certificate, in PEM form, instead of the usual ones
     */
    public function __construct(int $seconds = 5, ?string $caFile = null)
    {
        $this->seconds = $seconds;
        $this->caFile = $caFile;
    }

    /**
     * @param array|null $fields the fields of a POST, sent as JSON; null for a GET
     *
     * @return array|null `[status, body]`; null without a whole answer within the limits
     */
    public function send(string $address, ?array $fields = null)
    {
        $body = $fields === null ? null : json_encode($fields);

        if ($body === false) {
            return null;
        }

        try {
            if (!\function_exists('curl_init')) {
                return $this->byStream($address, $body);
            }

            return $this->hasJoomla() ? $this->byJoomla($address, $body) : $this->byCurl($address, $body);
        } catch (\Throwable $fault) {
            // The fault's message may contain the address, and thus the key.
            return null;
        }
    }

    private function hasJoomla(): bool
    {
        return $this->caFile === null
            && (class_exists('Joomla\CMS\Http\HttpFactory') || class_exists('Joomla\Http\HttpFactory'));
    }

    /** Sends a request through Joomla, which knows the site's proxy and certificates. */
    private function byJoomla(string $address, $body)
    {
        $name = class_exists('Joomla\CMS\Http\HttpFactory') ? 'Joomla\CMS\Http\HttpFactory' : 'Joomla\Http\HttpFactory';
        // Create an instance, because only one of the classes has a static method.
        $factory = new $name();
        $options = ['follow_location' => false, 'transport.curl' => $this->curlBounds()];
        $http = $factory->getHttp($options, 'curl');
        $headers = $this->headers($body);
        $response = $body === null
            ? $http->get($address, $headers, $this->seconds)
            : $http->post($address, $body, $headers, $this->seconds);

        return $this->bounded($response->getStatusCode(), (string) $response->getBody());
    }

    private function byCurl(string $address, $body)
    {
        $lines = [];

        foreach ($this->headers($body) as $name => $value) {
            $lines[] = $name . ': ' . $value;
        }

        $options = $this->curlBounds() + [
            CURLOPT_URL => $address,
            CURLOPT_USERAGENT => self::NAME,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_RETURNTRANSFER => true,
        ];

        if ($body !== null) {
            $options[CURLOPT_POSTFIELDS] = $body;
        }

        if ($this->caFile !== null) {
            $options[CURLOPT_CAINFO] = $this->caFile;
        }

        $handle = curl_init();
        curl_setopt_array($handle, $options);
        $answer = curl_exec($handle);

        return is_string($answer) ? $this->bounded(curl_getinfo($handle, CURLINFO_HTTP_CODE), $answer) : null;
    }

    private function curlBounds(): array
    {
        return [
            // This limits the whole request, even if an answer arrives byte by byte.
            CURLOPT_TIMEOUT => $this->seconds,
            CURLOPT_CONNECTTIMEOUT => $this->seconds,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_NOPROGRESS => false,
            CURLOPT_PROGRESSFUNCTION => function ($handle, $expected, $received) {
                return $received > self::MAX_BYTES ? 1 : 0;
            },
        ];
    }

    /** Sends without cURL: HTTP/1.0 on a socket, because the timeout of PHP's own stream applies to each line. */
    private function byStream(string $address, $body)
    {
        $deadline = microtime(true) + $this->seconds;
        $parts = parse_url($address);
        $isTls = ($parts['scheme'] ?? '') === 'https';
        $host = $parts['host'] ?? '';
        $port = $parts['port'] ?? ($isTls ? 443 : 80);
        $context = stream_context_create([
            'ssl' => ['peer_name' => $host] + ($this->caFile === null ? [] : ['cafile' => $this->caFile]),
        ]);
        $target = ($isTls ? 'ssl' : 'tcp') . '://' . $host . ':' . $port;
        $stream = @stream_socket_client($target, $code, $fault, $this->seconds, STREAM_CLIENT_CONNECT, $context);

        if ($stream === false) {
            return null;
        }

        $query = isset($parts['query']) ? '?' . $parts['query'] : '';
        $lines = [
            ($body === null ? 'GET ' : 'POST ') . ($parts['path'] ?? '/') . $query . ' HTTP/1.0',
            'Host: ' . $host . (isset($parts['port']) ? ':' . $port : ''),
            'User-Agent: ' . self::NAME,
            'Connection: close',
        ];

        foreach ($this->headers($body) + ($body === null ? [] : ['Content-Length' => strlen($body)]) as $name => $value) {
            $lines[] = $name . ': ' . $value;
        }

        $text = $this->exchange($stream, implode("\r\n", $lines) . "\r\n\r\n" . $body, $deadline);
        fclose($stream);

        return $text === null ? null : $this->parse($text);
    }

    /** Sends a request and reads to the end of the answer; returns null if a limit is exceeded. */
    private function exchange($stream, string $request, float $deadline)
    {
        stream_set_blocking($stream, false);
        $text = '';

        while ($request !== '' || !feof($stream)) {
            if (microtime(true) >= $deadline || strlen($text) > 2 * self::MAX_BYTES) {
                return null;
            }

            $written = $request === '' ? 0 : (int) @fwrite($stream, $request);
            $request = (string) substr($request, $written);
            $chunk = (string) fread($stream, 8192);
            $text .= $chunk;

            if ($written === 0 && $chunk === '') {
                // Do not use stream_select, which does not see bytes that TLS has already read.
                usleep(2000);
            }
        }

        return $text;
    }

    private function parse(string $text)
    {
        $parts = explode("\r\n\r\n", $text, 2);

        if (
            count($parts) !== 2
            || !preg_match('#^HTTP/1\.[01] (\d{3})#', $parts[0], $status)
            || preg_match('/^Transfer-Encoding:/im', $parts[0])
            // An interrupted connection ends like a closed one, so check the length.
            || (preg_match('/^Content-Length:\s*(\d+)/im', $parts[0], $length) && strlen($parts[1]) !== (int) $length[1])
        ) {
            return null;
        }

        return $this->bounded((int) $status[1], $parts[1]);
    }

    private function headers($body): array
    {
        return ['Accept' => 'application/json'] + ($body === null ? [] : ['Content-Type' => 'application/json']);
    }

    private function bounded(int $status, string $body)
    {
        return strlen($body) > self::MAX_BYTES ? null : [$status, $body];
    }
}
