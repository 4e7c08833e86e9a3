<?php

namespace LicensingGateway\Plugin\System\ShopClass\Extension;

use Joomla\Event\EventInterface;
use LicensingGateway\Plugin\System\ShopClass\Outbox;
use LicensingGateway\Plugin\System\ShopClass\Texts;

\defined('_JEXEC') or die;

/**
 * The plugin for HikaShop's orders. Events and objects are those of HikaShop 4.7, according to its source. The tests
 * fire events in this form, without HikaShop itself.
 */
final class Shop extends ShopPlugin
{
    const COMPONENT = 'com_hikashop';

    /** The mails that customers receive. The administrator's mails contain no keys. */
    const MAILS = ['order_creation_notification', 'order_status_notification', 'order_notification'];

    protected static function shopEvents(): array
    {
        return [
            'onAfterOrderCreate' => 'follow',
            'onAfterOrderUpdate' => 'follow',
            'onBeforeMailSend' => 'writeMail',
            'onAfterOrderProductsListingDisplay' => 'showKeys',
        ];
    }

    /** Records a payment or refund when the status of an order changes. */
    public function follow(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $order = array_values($event->getArguments())[0];
            $type = $order->order_type ?? $order->old->order_type ?? 'sale';
            $status = (string) ($order->order_status ?? '');
            $orderId = (int) ($order->order_id ?? 0);

            // An update without a status concerns something else. A "subsale" is a vendor's part of a sale.
            if ($status === '' || $orderId === 0 || $type !== 'sale') {
                return;
            }

            if (in_array($status, $this->paidStatuses(), true)) {
                if (!$this->isPaid($orderId)) {
                    $this->pay($orderId);
                }
            } elseif (in_array($status, $this->words('taken_back', 'refunded,cancelled'), true)) {
                // Do not send "cancelled": the service treats it as final, but a shop's status can be set back. The
                // service does not know an order that was never paid.
                if ($this->isPaid($orderId)) {
                    $paid = json_decode($this->outbox()->latest($orderId, ['paid'])->message, true);
                    $this->record($orderId, 'refunded', ['order' => $paid['order']] + $this->moneyOf($paid));
                }
            }
        });
    }

    /** Adds the keys to the order's mail. */
    public function writeMail(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            list($mail, $mailer) = array_values($event->getArguments());
            $orderId = (int) ($mail->data->order_id ?? 0);

            if ($orderId > 0 && in_array($mail->mail_name ?? '', self::MAILS, true)) {
                $this->writeKeys($orderId, $mailer, !empty($mail->html));
            }
        });
    }

    /** Shows the keys on the customer's page of the order. */
    public function showKeys(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            list($order, $page) = array_values($event->getArguments());

            if ($page !== 'order_front_show') {
                return;
            }

            list($said, $tag) = $this->keysFor((int) ($order->order_id ?? 0));

            if ($said) {
                echo Texts::asHtml($said, $tag);
            }
        });
    }

    private function paidStatuses(): array
    {
        return $this->words('paid', 'confirmed,shipped');
    }

    private function pay(int $orderId): void
    {
        // The event's own object contains only the changed fields.
        $order = \hikashop_get('class.order')->loadFullOrder($orderId, false, false);
        $lines = [];
        $names = [];

        foreach ($order->products as $product) {
            $code = (string) $product->order_product_code;

            if ((int) $product->order_product_quantity <= 0 || !$this->isLicensed($code)) {
                continue;
            }

            $line = (string) $product->order_product_id;
            $names[$line] = html_entity_decode(strip_tags((string) $product->order_product_name), ENT_QUOTES, 'UTF-8');
            $lines[] = array_filter([
                'line' => $line,
                'sku' => $code,
                'quantity' => (int) $product->order_product_quantity,
                'renews' => $this->renewed($order, $product),
            ]);
        }

        if (!$lines) {
            return;
        }

        $message = [
            'order' => (string) ($order->order_number ?? '') ?: (string) $orderId,
            'customer' => $this->customer($order),
            'lines' => $lines,
        ];
        $this->record($orderId, 'paid', array_filter($message) + $this->total($order), [
            'names' => $names,
            'language' => (string) ($order->order_lang ?? '') ?: $this->getApplication()->getLanguage()->getTag(),
        ]);
    }

    /** Returns the order's total. Its currency is stored with the order, serialized. */
    private function total(\stdClass $order): array
    {
        $info = $order->order_currency_info ?? '';
        $code = is_object($info) ? (string) ($info->currency_code ?? '') : '';

        if (is_string($info) && preg_match('/"currency_code";s:3:"([A-Z]{3})"/', $info, $found)) {
            $code = $found[1];
        }

        return $this->money($order->order_full_price ?? '', $code);
    }

    /** Returns the customer, who may have been deleted. A guest's name is only in the address. */
    private function customer(\stdClass $order): array
    {
        $address = $order->billing_address ?? null;
        $name = trim(($address->address_firstname ?? '') . ' ' . ($address->address_lastname ?? ''));
        $email = (string) ($order->customer->user_email ?? '');

        return $email === ''
            ? []
            : array_filter(['email' => $email, 'name' => (string) ($order->customer->name ?? '') ?: $name]);
    }

    /**
     * Returns the order line that a line renews: the latest purchase of the article in the settings by the same
     * registered customer, or the purchase in the order that the customer named. Guests cannot be recognised.
     */
    private function renewed(\stdClass $order, \stdClass $product): string
    {
        $article = $this->renewals()[$product->order_product_code] ?? '';

        if ($article === '' || empty($order->customer->user_cms_id)) {
            return '';
        }

        $db = $this->getDatabase();
        $field = trim((string) $this->params->get('renewal_field', ''));
        $named = $field === '' ? '' : trim((string) ($product->$field ?? ''));
        $statuses = implode(', ', array_map([$db, 'quote'], $this->paidStatuses()));
        $rows = $db->setQuery(
            'SELECT paid.message, line.order_product_id FROM #__hikashop_order AS sale'
            . ' INNER JOIN #__hikashop_order_product AS line ON line.order_id = sale.order_id'
            . ' INNER JOIN ' . Outbox::TABLE . " AS paid ON paid.order_id = sale.order_id AND paid.event = 'paid'"
            . ' WHERE sale.order_user_id = ' . (int) $order->order_user_id
            . ' AND sale.order_id <> ' . (int) $order->order_id . " AND sale.order_status IN ($statuses)"
            . ' AND line.order_product_quantity > 0 AND line.order_product_code = ' . $db->quote($article)
            . ($named === '' ? '' : ' AND sale.order_number = ' . $db->quote($named))
            . ' ORDER BY sale.order_id DESC, line.order_product_id DESC, paid.id DESC LIMIT 1'
        )->loadObjectList();

        if (!$rows) {
            return '';
        }

        $earlier = (string) json_decode($rows[0]->message, true)['order'];

        return strtr($earlier, ['%' => '%25', ':' => '%3A']) . ':' . $rows[0]->order_product_id;
    }
}
