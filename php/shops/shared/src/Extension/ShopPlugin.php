<?php

namespace LicensingGateway\Plugin\System\ShopClass\Extension;

use Joomla\CMS\Factory;
use Joomla\CMS\Log\Log;
use Joomla\CMS\Mail\MailerFactoryInterface;
use Joomla\CMS\Plugin\CMSPlugin;
use Joomla\CMS\Uri\Uri;
use Joomla\Database\DatabaseAwareTrait;
use Joomla\Event\EventInterface;
use Joomla\Event\SubscriberInterface;
use LicensingGateway\Plugin\System\ShopClass\Outbox;
use LicensingGateway\Plugin\System\ShopClass\Service;
use LicensingGateway\Plugin\System\ShopClass\Texts;

\defined('_JEXEC') or die;

/**
 * The common part of all shops' plugins. An order's event is stored in an outbox, then posted at once, so that the
 * shop's mail can contain the key. Events that could not be posted are posted after later pages of the site, oldest first.
 *
 * A system plugin, because it must run on pages without the shop too. It never breaks a page or a sale.
 */
abstract class ShopPlugin extends CMSPlugin implements SubscriberInterface
{
    use DatabaseAwareTrait;

    /** The shop's component, whose pages in the administrator area show faults. */
    const COMPONENT = '';

    /** The mark in a template of the shop's mails that the keys replace. */
    const MARK = 'KeyMark';

    /** Currencies whose minor unit is not a hundredth. */
    const MINOR_DIGITS = [
        'BIF' => 0, 'CLP' => 0, 'DJF' => 0, 'GNF' => 0, 'ISK' => 0, 'JPY' => 0, 'KMF' => 0, 'KRW' => 0, 'PYG' => 0,
        'RWF' => 0, 'UGX' => 0, 'UYI' => 0, 'VND' => 0, 'VUV' => 0, 'XAF' => 0, 'XOF' => 0, 'XPF' => 0,
        'BHD' => 3, 'IQD' => 3, 'JOD' => 3, 'KWD' => 3, 'LYD' => 3, 'OMR' => 3, 'TND' => 3, 'CLF' => 4, 'UYW' => 4,
    ];

    /** The events after which an order can be paid again. */
    const TAKE_BACK = ['refunded', 'subscription_ended'];

    /** The timeout for all calls of one request together. */
    const SECONDS = 3;
    const AT_ONCE = 20;
    const CLAIM_SECONDS = 60;
    const MAX_PAUSE = 3600;
    const GIVE_UP_SECONDS = 2592000;

    private $outbox;

    /** The seconds that the calls of this request took. */
    private $spent = 0.0;

    /** The orders that this request recorded: their mails are written next. */
    private $recorded = [];

    /** The lines of the service's answers in this request, by order. */
    private $answers = [];

    /** Returns the shop's events, with the methods that handle them. */
    abstract protected static function shopEvents(): array;

    public static function getSubscribedEvents(): array
    {
        return static::shopEvents() + [
            'onAfterRoute' => 'report',
            'onAfterRespond' => 'sendLater',
            'onExtensionAfterSave' => 'tryAgain',
        ];
    }

    /** Shows the administrator the events that could not be posted. */
    public function report(): void
    {
        $this->guard(function () {
            $app = $this->getApplication();
            // Without an option, the page is the dashboard.
            $pages = ['', 'com_cpanel', 'com_plugins', static::COMPONENT];

            if (
                !$app->isClient('administrator')
                || !in_array($app->getInput()->get('option', ''), $pages, true)
                || $app->getInput()->get('format', 'html') !== 'html'
                || !$app->getIdentity()
                || !$app->getIdentity()->authorise('core.manage', 'com_plugins')
            ) {
                return;
            }

            $tag = $app->getLanguage()->getTag();

            foreach (['FAILED' => ['failed', 0], 'UNSENT' => ['unsent', 300]] as $name => $which) {
                list($number, $row) = $this->outbox()->standing($which[0], time() - $which[1] + 1);

                if ($number > 0) {
                    $order = json_decode($row->message, true)['order'] ?? $row->order_id;
                    $missing = $this->service()->missing();
                    $reason = $missing === '' ? $row->error : Texts::word($missing, $tag);
                    $text = sprintf(Texts::word($name, $tag), $number, $order, rtrim($reason, '.') . '.');
                    $app->enqueueMessage(htmlspecialchars($text, ENT_QUOTES, 'UTF-8'), 'warning');
                }
            }
        });
    }

    /** Posts the events that are due, after the page was sent. */
    public function sendLater(): void
    {
        $this->guard(function () {
            if (!$this->outbox()->due(time(), 1, true)) {
                return;
            }

            // If PHP can end the request first, the visitor does not wait for the service.
            foreach (['fastcgi_finish_request', 'litespeed_finish_request'] as $finish) {
                if (function_exists($finish)) {
                    $finish();
                }
            }

            $this->sendDue(true);
        });
    }

    /** Makes refused events due again after the plugin's settings were saved. */
    public function tryAgain(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $arguments = array_values($event->getArguments());

            if (
                ($arguments[0] ?? '') === 'com_plugins.plugin'
                && ($arguments[1]->element ?? '') === 'shopplugin'
                && ($arguments[1]->folder ?? '') === 'system'
            ) {
                $this->outbox()->tryAgain(time());
            }
        });
    }

    /**
     * Stores an event of an order, and posts it. Payments and refunds alternate. Without an event id, the event is
     * named by its turn, so that two simultaneous requests record the same event. A message may name its event itself.
     */
    protected function record(int $orderId, string $event, array $message, array $details = [], string $eventId = ''): void
    {
        if ($eventId === '') {
            $turn = $event === 'paid'
                ? $this->outbox()->count($orderId, self::TAKE_BACK) + 1
                : $this->outbox()->count($orderId, ['paid']);
            $eventId = $turn > 1 ? "$event-$turn" : $event;
        }

        $last = $this->outbox()->last($orderId);
        $before = $last === null ? [] : json_decode($last->message, true);
        // The service sorts events of the same second by kind, not by arrival.
        $at = max(time(), strtotime($before['at'] ?? '1970-01-01') + 1);
        $message += [
            'shop' => $before['shop'] ?? (string) $this->params->get('shop', 'ShopName'),
            // A shop of this kind delivers the keys itself, so the service does not mail them too.
            'kind' => 'shopkind',
            'event' => $event,
            'event_id' => $eventId,
            'at' => gmdate('Y-m-d\TH:i:s\Z', $at),
            'test' => (bool) $this->params->get('test', 0),
        ];

        // The service's other mails are in the language of the order too.
        if (!empty($message['customer']) && !empty($details['language'])) {
            $message['customer']['language'] = substr($details['language'], 0, 2);
        }

        if ($this->outbox()->add($orderId, $event, $eventId, $message, $details, time())) {
            $this->recorded[$orderId] = $event === 'paid';
            $this->sendDue(false);
        }
    }

    /** Returns a total in the service's form, minor units of ISO 4217; empty if total or currency is unknown. */
    protected function money($total, string $currency): array
    {
        if (!is_numeric($total) || (float) $total < 0 || !preg_match('/^[A-Z]{3}$/D', $currency)) {
            return [];
        }

        $digits = self::MINOR_DIGITS[$currency] ?? 2;

        return ['amount' => (int) round((float) $total * 10 ** $digits), 'currency' => $currency];
    }

    /** Returns the amount and currency of a message: a refund returns the whole payment. */
    protected function moneyOf(array $message): array
    {
        return array_intersect_key($message, ['amount' => true, 'currency' => true]);
    }

    /** Reports whether the order is paid, according to the events that were or will be posted. */
    protected function isPaid(int $orderId): bool
    {
        $row = $this->outbox()->latest($orderId, array_merge(['paid'], self::TAKE_BACK));

        return $row !== null && $row->event === 'paid';
    }

    /** Reports whether an article, given by its code, includes a licence. */
    protected function isLicensed(string $article): bool
    {
        $patterns = $this->words('articles');

        foreach ($patterns as $pattern) {
            if (fnmatch($pattern, $article)) {
                return true;
            }
        }

        return !$patterns;
    }

    /** Returns the entries of a setting that is a list. */
    protected function words(string $name, string $default = ''): array
    {
        return preg_split('/\s*[,\n]\s*/', trim((string) $this->params->get($name, $default)), -1, PREG_SPLIT_NO_EMPTY);
    }

    /** Returns the articles that are renewals, with the articles that they renew. */
    protected function renewals(): array
    {
        $renewals = [];

        foreach ($this->words('renewals') as $entry) {
            $parts = array_map('trim', explode('=', $entry, 2));

            if (count($parts) === 2) {
                $renewals[$parts[0]] = $parts[1];
            }
        }

        return $renewals;
    }

    /** Inserts the keys of an order into its mail: at the template's mark, otherwise once at the end. */
    protected function writeKeys(int $orderId, $mailer, bool $isHtml): void
    {
        $hasMark = strpos((string) $mailer->Body . (string) $mailer->AltBody, self::MARK) !== false;

        if (!$hasMark && !$this->isNew($orderId)) {
            return;
        }

        list($said, $tag) = $this->keysFor($orderId);
        $html = $said ? Texts::asHtml($said, $tag) : '';
        $text = $said ? Texts::asText($said, $tag) : '';
        $mailer->Body = Texts::insert((string) $mailer->Body, self::MARK, $isHtml ? $html : $text, $isHtml);

        if ((string) $mailer->AltBody !== '') {
            $mailer->AltBody = Texts::insert($mailer->AltBody, self::MARK, $text, false);
        }
    }

    protected function outbox(): Outbox
    {
        return $this->outbox ?? ($this->outbox = new Outbox($this->getDatabase()));
    }

    /** Reports whether this request recorded the order, so that its mails must contain the keys. */
    protected function isNew(int $orderId): bool
    {
        return !empty($this->recorded[$orderId]) && $this->params->get('key_mail', 'shop') === 'shop';
    }

    /**
     * Returns the texts about the keys of a paid order for the customer; no texts for another order. Asks the service,
     * because the site stores no keys.
     *
     * @return array of texts, and the language's tag
     */
    protected function keysFor(int $orderId): array
    {
        $row = $this->isPaid($orderId) ? $this->outbox()->latest($orderId, ['paid']) : null;

        if ($row === null) {
            return [[], ''];
        }

        $isPosted = in_array($row->state, ['done', 'waiting'], true);

        if (!isset($this->answers[$orderId]) && $isPosted && $this->secondsLeft() > 0) {
            // Posting the same event again changes nothing.
            $this->answers[$orderId] = $this->post($row)['lines'];
        }

        $details = json_decode($row->details, true);
        $tag = (string) ($details['language'] ?? '');

        return [Texts::ofKeys($this->answers[$orderId] ?? null, $details['names'] ?? [], $tag), $tag];
    }

    /** Runs a function, and keeps its faults from breaking the page. */
    protected function guard(callable $run): void
    {
        try {
            $run();
        } catch (\Throwable $fault) {
            try {
                Log::add(get_class($fault) . ': ' . $fault->getMessage(), Log::WARNING, 'shopplugin');
            } catch (\Throwable $second) {
                // A fault of the log cannot be reported.
            }
        }
    }

    /** Returns the service in the settings, by default the service next to this site. */
    private function service(): Service
    {
        $site = trim((string) $this->params->get('address', ''));

        return new Service($site === '' ? Uri::root() : $site, (string) $this->params->get('token', ''));
    }

    private function secondsLeft(): int
    {
        return (int) round(self::SECONDS - $this->spent);
    }

    private function post(\stdClass $row): array
    {
        $start = microtime(true);
        $answer = $this->service()->post(json_decode($row->message, true), $this->secondsLeft());
        $this->spent += microtime(true) - $start;

        return $answer;
    }

    private function sendDue(bool $withWaiting): void
    {
        // On the command line, Joomla may not know the site's address. The next page posts the event.
        if ($this->getApplication()->isClient('cli')) {
            return;
        }

        foreach ($this->outbox()->due(time(), self::AT_ONCE, $withWaiting) as $row) {
            $missing = $this->service()->missing();

            if ($missing !== '') {
                $this->outbox()->postpone($row, time() + 60, $missing);

                return;
            }

            if ($this->secondsLeft() <= 0) {
                return;
            }

            if ($this->outbox()->claim($row, time() + self::CLAIM_SECONDS) && !$this->send($row)) {
                return;
            }
        }
    }

    /** Posts an event. @return bool whether the service answered */
    private function send(\stdClass $row): bool
    {
        $answer = $this->post($row);
        $details = json_decode($row->details, true);
        $now = time();

        if ($answer['status'] === 200) {
            $this->settle($row, $answer['lines'], $details);

            return true;
        }

        if ($answer['status'] >= 400 && $answer['status'] < 500 && $answer['status'] !== 429) {
            $this->outbox()->settle($row, 'failed', $now, $details, $answer['error']);

            return true;
        }

        $pause = $answer['wait'] > 0 ? $answer['wait'] : 60 * 2 ** min($row->attempts, 6);
        $this->outbox()->postpone($row, $now + min($pause, self::MAX_PAUSE), $answer['error']);

        return false;
    }

    private function settle(\stdClass $row, array $lines, array $details): void
    {
        $now = time();

        if ($row->event !== 'paid') {
            $this->outbox()->settle($row, 'done', $now, $details);

            return;
        }

        $told = $details['told'] ?? [];
        $untold = array_filter($lines, function ($line) use ($told) {
            return !in_array($line['line'], $told, true) && ($line['action'] ?? '') !== 'waiting';
        });
        $error = '';
        $orderId = (int) $row->order_id;
        $this->answers[$orderId] = $lines;

        // An order that was refunded meanwhile needs no mail.
        if (!$this->isNew($orderId) && $this->isPaid($orderId)) {
            try {
                $this->mailKeys($row, $untold, $details);
            } catch (\Throwable $fault) {
                $untold = [];
                $error = $fault->getMessage();
            }
        }

        $details['told'] = array_merge($told, array_column($untold, 'line'));
        $age = $now - $row->created_at;
        $isOpen = count($details['told']) < count($lines) && $age < self::GIVE_UP_SECONDS;
        // Ask less and less often for lines that wait for the seller.
        $pause = min(max(300, $age), 86400);
        $this->outbox()->settle($row, $isOpen ? 'waiting' : 'done', $now + $pause, $details, $error);
    }

    /** Mails the keys that the shop's mail could not contain. */
    private function mailKeys(\stdClass $row, array $lines, array $details): void
    {
        $message = json_decode($row->message, true);
        $customer = $message['customer'] ?? [];
        $tag = (string) ($details['language'] ?? '');
        $said = Texts::ofKeys($lines, $details['names'] ?? [], $tag);

        if (!$said || empty($customer['email'])) {
            return;
        }

        $mailer = Factory::getContainer()->get(MailerFactoryInterface::class)->createMailer();
        $mailer->addRecipient($customer['email'], $customer['name'] ?? '');
        $mailer->setSubject(sprintf(Texts::word('MAIL_SUBJECT', $tag), $message['order']));
        $mailer->setBody(
            sprintf(Texts::word('MAIL_BODY', $tag), $message['order']) . "\n\n" . implode("\n", $said) . "\n"
        );

        if ($mailer->send() === false) {
            throw new \RuntimeException('Joomla could not send the mail with the keys.');
        }
    }
}
