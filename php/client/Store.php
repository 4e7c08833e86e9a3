<?php

namespace VendorName\Licensing;

/**
 * Stores one small text for each licence key and site in a folder. The texts are signed by the service, so editing them
 * is useless. They contain neither the key nor the site.
 */
class Store
{
    private $folder;

    /** @param string $folder such as JPATH_SITE . '/cache/acme'; it is created if it does not exist */
    public function __construct(string $folder)
    {
        $this->folder = rtrim($folder, '/\\');
    }

    public function read(string $name): string
    {
        $file = $this->file($name);

        return is_file($file) ? (string) @file_get_contents($file, false, null, 0, 16384) : '';
    }

    /** Writes a text; an empty text removes it. An unwritable folder is not an error: the service is asked again. */
    public function write(string $name, string $text)
    {
        $file = $this->file($name);

        if ($text === '') {
            if (is_file($file)) {
                @unlink($file);
            }

            return;
        }

        if (!is_dir($this->folder) && !@mkdir($this->folder, 0755, true) && !is_dir($this->folder)) {
            return;
        }

        $temporary = $file . '.' . bin2hex(random_bytes(6));

        if (@file_put_contents($temporary, $text) === strlen($text) && @rename($temporary, $file)) {
            return;
        }

        @unlink($temporary);
    }

    private function file(string $name): string
    {
        return $this->folder . '/' . hash('sha256', $name) . '.txt';
    }
}
