<?php

namespace LicensingGateway\Plugin\System\ShopClass\Extension;

use Joomla\Event\EventInterface;
use Joomla\Event\Priority;
use LicensingGateway\Plugin\System\ShopClass\Outbox;
use LicensingGateway\Plugin\System\ShopClass\Texts;

\defined('_JEXEC') or die;

/**
 * The plugin for J2Commerce's orders. Version 6 is a new component; version 4 still has J2Store's events and tables.
 * Both have the same columns and statuses. Events and rows are those of J2Commerce 6.5 and 4.1, according to their
 * source, and for renewals to its guide for developers. The tests fire events in this form, without J2Commerce itself.
 */
final class Shop extends ShopPlugin
{
    const COMPONENT = 'com_j2commerce';

    /** The types of products with recurring payments, as J2Commerce's source names them. */
    const SUBSCRIPTIONS = "'subscriptionproduct', 'variablesubscriptionproduct'";

    /** The pages on which a customer sees one order. */
    const PAGES = ['myprofile', 'confirmation'];

    /** The orders whose keys the page of this request already contains. */
    private $shown = [];

    protected static function shopEvents(): array
    {
        return [
            'onJ2CommerceOrderStatusChange' => 'follow',
            'onJ2CommerceProcessRenewalPayment' => ['expectRenewal', Priority::MAX],
            'onJ2CommerceSuccessRenewalPayment' => 'renew',
            'onJ2CommerceBeforeOrderNotification' => 'writeMail',
            'onJ2CommerceAfterDisplayLineItemTitle' => 'showKeys',
            'onJ2StoreAfterOrderstatusUpdate' => 'followJ2Store',
            'onJ2StoreProcessRenewalPayment' => ['expectRenewal', Priority::MAX],
            'onJ2StoreSuccessRenewalPayment' => 'renew',
            'onJ2StoreBeforeOrderNotification' => 'writeMail',
            'onJ2StoreAfterDisplayLineItemTitleInOrder' => 'showKeys',
        ];
    }

    /** Follows an order. Version 6 passes number and both statuses from its table, or after a row id from its model. */
    public function follow(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $arguments = $event->getArguments();
            $from = isset($arguments[3]) ? 1 : 0;
            $this->followStatus('j2commerce', (string) $arguments[$from], (int) $arguments[$from + 2]);
        });
    }

    public function followJ2Store(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            list($order, $status) = array_values($event->getArguments());
            $this->followStatus('j2store', (string) ($order->order_id ?? ''), (int) $status);
        });
    }

    /** Notes a renewal's order before it is paid, because it must never become a licence of its own. */
    public function expectRenewal(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            list($subscription, $order) = $this->renewalOf($event);
            $shop = $this->shopOf($order);
            $first = $this->find($shop, (string) ($subscription->order_id ?? ''));
            $renewal = $this->find($shop, (string) ($order->order_id ?? ''));

            if ($first !== null && $renewal !== null && $first->id !== $renewal->id && $this->isKnown($first->id)) {
                $this->outbox()->note($renewal->id, 'renewal', ['first' => $first->id], time());
            }
        });
    }

    /** Records a paid renewal. It has an order of its own, or no order if the payment service bills. */
    public function renew(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            list($subscription, $order) = $this->renewalOf($event);
            $shop = $this->shopOf($order);
            $first = $this->find($shop, (string) ($subscription->order_id ?? ''));
            $payment = (string) ($order->order_id ?? '');

            if ($first === null || !$this->isKnown($first->id)) {
                return;
            }

            if ($payment === $first->order_id) {
                $payment = (string) ($order->transaction_id ?? '');
            }

            $lines = $this->subscribedLines($shop, $first, $subscription);

            if ($payment !== '' && $lines) {
                $message = ['order' => $first->order_id, 'payment' => $payment, 'lines' => $lines] + $this->total($order);
                $this->record($first->id, 'renewed', $message, [], 'renewed-' . md5($payment));
            }
        });
    }

    /** Adds the keys to the order's mail. */
    public function writeMail(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            list($order, $mailer) = array_values($event->getArguments());
            $id = $this->idOf($order);

            if ($id > 0) {
                $this->writeKeys($id, $mailer, true);
            }
        });
    }

    /** Shows the keys on the customer's page of the order, below its first article. */
    public function showKeys(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $order = array_values($event->getArguments())[1] ?? null;
            $id = is_object($order) ? $this->idOf($order) : 0;
            $app = $this->getApplication();

            // Carts and mails fire the same event.
            if (
                $id === 0 || isset($this->shown[$id]) || !$app->isClient('site')
                || !in_array($app->getInput()->get('view', ''), self::PAGES, true)
            ) {
                return;
            }

            $this->shown[$id] = true;
            list($said, $tag) = $this->keysFor($id);

            if ($said) {
                $shown = $event->getArgument('result', []) ?: [];
                $shown[] = Texts::asHtml($said, $tag);
                $event->setArgument('result', $shown);
            }
        });
    }

    private function followStatus(string $shop, string $number, int $status): void
    {
        $isPaying = in_array((string) $status, $this->paidStatuses(), true);

        if (!$isPaying && !in_array((string) $status, $this->words('taken_back', '6'), true)) {
            return;
        }

        $order = $this->find($shop, $number);

        if ($order === null) {
            return;
        }

        $renewal = $this->outbox()->byEventId($order->id, 'renewal');

        if ($renewal !== null) {
            $first = (int) json_decode($renewal->details, true)['first'];

            // `renew` records the payment, so record only its refund here.
            if (!$isPaying && $this->outbox()->byEventId($first, 'renewed-' . md5($number)) !== null) {
                $paid = json_decode($this->outbox()->latest($first, ['paid'])->message, true);
                $message = ['event' => 'refunded', 'order' => $paid['order'], 'payment' => $number] + $this->total($order);
                $this->record($first, 'renewal_refunded', $message, [], 'refunded-' . substr(md5($number), 0, 31));
            }
        } elseif ($isPaying && !$this->isPaid($order->id)) {
            $this->pay($shop, $order);
        } elseif (!$isPaying && $this->isPaid($order->id)) {
            // Do not send "cancelled": the service treats it as final, but a shop's status can be set back.
            $this->record($order->id, 'refunded', ['order' => $order->order_id] + $this->total($order));
        }
    }

    private function paidStatuses(): array
    {
        return $this->words('paid', '1,7,8');
    }

    private function pay(string $shop, \stdClass $order): void
    {
        $lines = [];
        $names = [];

        foreach ($this->itemsOf($shop, $order->order_id) as $item) {
            $quantity = (int) $item->orderitem_quantity;

            if ($quantity <= 0 || !$this->isLicensed($item->sku)) {
                continue;
            }

            $line = (string) $item->id;
            $names[$line] = html_entity_decode(strip_tags((string) $item->orderitem_name), ENT_QUOTES, 'UTF-8');
            $lines[] = array_filter([
                'line' => $line,
                'sku' => $item->sku,
                'quantity' => $quantity,
                'renews' => $this->renewed($shop, $order, $item->sku),
            ]);
        }

        if (!$lines) {
            return;
        }

        $language = (string) ($order->customer_language ?? '');
        $this->record(
            $order->id,
            'paid',
            ['order' => $order->order_id, 'customer' => $this->customer($shop, $order), 'lines' => $lines]
                + $this->total($order),
            [
                'names' => $names,
                'language' => in_array($language, ['', '*'], true)
                    ? $this->getApplication()->getLanguage()->getTag()
                    : $language,
            ]
        );
    }

    /** Returns the order's total. J2Commerce stores it in its own currency, with the rate of the order's currency. */
    private function total($order): array
    {
        $total = $order->order_total ?? '';
        $rate = (float) ($order->currency_value ?? 1) ?: 1.0;

        return $this->money(is_numeric($total) ? (float) $total * $rate : '', (string) ($order->currency_code ?? ''));
    }

    private function customer(string $shop, \stdClass $order): array
    {
        $info = $this->rows(
            "SELECT billing_first_name, billing_last_name FROM #__{$shop}_orderinfos WHERE order_id = "
            . $this->getDatabase()->quote($order->order_id)
        )[0] ?? null;
        $name = trim(($info->billing_first_name ?? '') . ' ' . ($info->billing_last_name ?? ''));

        return array_filter(['email' => (string) $order->user_email, 'name' => $name]);
    }

    /** Returns the line that an article renews: the registered customer's latest purchase of the article in the settings. */
    private function renewed(string $shop, \stdClass $order, string $sku): string
    {
        $article = $this->renewals()[$sku] ?? '';

        if ($article === '' || (int) $order->user_id === 0) {
            return '';
        }

        $db = $this->getDatabase();
        $rows = $this->rows(
            "SELECT sale.order_id, line.{$shop}_orderitem_id AS line FROM #__{$shop}_orders AS sale"
            . " INNER JOIN #__{$shop}_orderitems AS line ON line.order_id = sale.order_id"
            . ' INNER JOIN ' . Outbox::TABLE . " AS paid ON paid.order_id = sale.{$shop}_order_id AND paid.event = 'paid'"
            . ' WHERE sale.user_id = ' . (int) $order->user_id . " AND sale.{$shop}_order_id <> $order->id"
            . ' AND sale.order_state_id IN (' . implode(', ', array_map('intval', $this->paidStatuses())) . ')'
            . ' AND line.orderitem_sku = ' . $db->quote($article)
            . " ORDER BY sale.{$shop}_order_id DESC, line.{$shop}_orderitem_id DESC LIMIT 1"
        );

        return $rows ? strtr($rows[0]->order_id, ['%' => '%25', ':' => '%3A']) . ':' . $rows[0]->line : '';
    }

    /** Returns the lines of the first order that a subscription renews. */
    private function subscribedLines(string $shop, \stdClass $first, $subscription): array
    {
        $paid = json_decode($this->outbox()->latest($first->id, ['paid'])->message, true);
        $posted = array_column($paid['lines'], 'line');
        $product = (int) ($subscription->product_id ?? 0);
        $lines = [];

        foreach ($this->itemsOf($shop, $first->order_id, ' AND product_type IN (' . self::SUBSCRIPTIONS . ')') as $item) {
            if (in_array((string) $item->id, $posted, true) && in_array($product, [0, (int) $item->product_id], true)) {
                $lines[] = ['line' => (string) $item->id];
            }
        }

        return $lines;
    }

    /** Returns the items of an order. An article without a SKU is identified by its product's id. */
    private function itemsOf(string $shop, string $number, string $which = ''): array
    {
        $items = $this->rows(
            "SELECT {$shop}_orderitem_id AS id, product_id, orderitem_sku, orderitem_name, orderitem_quantity"
            . " FROM #__{$shop}_orderitems WHERE order_id = " . $this->getDatabase()->quote($number) . $which
            . " ORDER BY {$shop}_orderitem_id"
        );

        foreach ($items as $item) {
            $item->sku = trim((string) $item->orderitem_sku) ?: (string) $item->product_id;
        }

        return $items;
    }

    /** Returns an order's row by its number; null if it does not exist. */
    private function find(string $shop, string $number)
    {
        $rows = $number === '' ? [] : $this->rows(
            "SELECT {$shop}_order_id AS id, order_id, user_id, user_email, customer_language,"
            . ' order_total, currency_code, currency_value'
            . " FROM #__{$shop}_orders WHERE order_id = " . $this->getDatabase()->quote($number)
        );

        if (!$rows) {
            return null;
        }

        $rows[0]->id = (int) $rows[0]->id;
        $rows[0]->order_id = (string) $rows[0]->order_id;

        return $rows[0];
    }

    /** Reports whether the payment of an order was recorded. */
    private function isKnown(int $orderId): bool
    {
        return $this->outbox()->latest($orderId, ['paid']) !== null;
    }

    /** Returns subscription and order: by name in version 6, the last two objects in version 4. */
    private function renewalOf(EventInterface $event): array
    {
        $arguments = $event->getArguments();

        return isset($arguments['subscription'], $arguments['order'])
            ? [$arguments['subscription'], $arguments['order']]
            : array_values(array_filter($arguments, 'is_object'));
    }

    /** Returns the shop whose tables contain an order. A site has only one of the versions. */
    private function shopOf($order): string
    {
        return isset($order->j2store_order_id) ? 'j2store' : 'j2commerce';
    }

    private function idOf($order): int
    {
        return (int) ($order->j2commerce_order_id ?? $order->j2store_order_id ?? 0);
    }

    private function rows(string $sql): array
    {
        return $this->getDatabase()->setQuery($sql)->loadObjectList();
    }
}
