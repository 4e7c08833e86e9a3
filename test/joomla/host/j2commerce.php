<?php

/**
 * Fires the events of J2Commerce when an order's status changes, its mail is sent, a customer views it and a subscription is
 * renewed, at the same moments and with the same arguments. Sources:
 *
 * - 6.5.1 (Joomla 6 and later), github.com/j2commerce/j2commerce: OrderTable::store(), OrderModel::updateOrderStatus()
 *   and ::sendOrderNotification(), EmailHelper::processTags(), tmpl/myprofile/bootstrap5/order.php, PluginEvent,
 *   payment_paypal's finalizeNvpRenewalOrder() and handleSubscriptionRenewalSuccess(); for
 *   onJ2CommerceProcessRenewalPayment the page "Subscription Renewal & Card-Relink Support" of
 *   github.com/j2commerce/documentation
 * - 4.1.0 (Joomla 4 and 5), github.com/j2commerce/j2cart, which still has J2Store's names: tables/order.php update_status()
 *   and notify_customer(), helpers/email.php, views/myprofile/tmpl/orderitems.php, payment_paypal's byReference()
 */

use Joomla\CMS\Mail\Mail;
use Joomla\Event\Event;

function j2(): string
{
    return Host::since('6.0') ? 'j2commerce' : 'j2store';
}

/** Fires an event by its name in this version. The arguments are positional or named, as in that version. @return Event */
function fire(string $name, array $arguments)
{
    $event = new Event((Host::since('6.0') ? 'onJ2Commerce' : 'onJ2Store') . $name, $arguments);
    Host::$dispatcher->dispatch((Host::since('6.0') ? 'onJ2Commerce' : 'onJ2Store') . $name, $event);

    return $event;
}

function order(string $number): stdClass
{
    return Host::$db->setQuery('SELECT * FROM #__' . j2() . '_orders WHERE order_id = ' . Host::$db->quote($number))
        ->loadObjectList()[0];
}

function items(string $number): array
{
    return Host::$db->setQuery('SELECT * FROM #__' . j2() . '_orderitems WHERE order_id = ' . Host::$db->quote($number))
        ->loadObjectList();
}

function insert_row(string $table, array $values): int
{
    Host::$db->setQuery(
        'INSERT INTO #__' . j2() . "_$table (" . implode(', ', array_keys($values)) . ') VALUES ('
        . implode(', ', array_map([Host::$db, 'quote'], array_map('strval', $values))) . ')'
    )->execute();

    return (int) Host::$db->setQuery('SELECT MAX(' . j2() . '_' . rtrim($table, 's') . '_id) FROM #__' . j2() . "_$table")
        ->loadResult();
}

/** @param string $by the code of version 6 that writes the status: the table, or the administrator's model */
function set_status(string $number, int $status, string $by = 'table'): void
{
    $old = order($number);
    Host::$db->setQuery(
        'UPDATE #__' . j2() . "_orders SET order_state_id = $status WHERE order_id = " . Host::$db->quote($number)
    )->execute();

    if ((int) $old->order_state_id === $status) {
        return;
    }

    if (!Host::since('6.0')) {
        fire('AfterOrderstatusUpdate', [order($number), $status]);
    } elseif ($by === 'table') {
        fire('OrderStatusChange', [$number, (int) $old->order_state_id, $status]);
    } else {
        fire('OrderStatusChange', [(int) $old->j2commerce_order_id, $number, (int) $old->order_state_id, $status, true]);
    }
}

/** Sends an order's mails. Both versions remove unknown tags in square brackets. */
function notify(string $number, string $template): void
{
    $text = preg_replace('/\[.*?\]/', '', $template);

    foreach (['' => order($number)->user_email, 'Admin' => 'shop@example.com'] as $for => $address) {
        $mailer = new Mail();
        $mailer->addRecipient($address);
        $mailer->setSubject('order');
        $mailer->Body = "<html><body>$text</body></html>";
        $mailer->AltBody = $text;
        $arguments = Host::since('6.0')
            ? ['order' => order($number), 'mailer' => $mailer] + ($for === '' ? ['type' => 'customer'] : [])
            : [order($number), &$mailer];
        fire("BeforeOrderNotification$for", $arguments);
        $mailer->send();
    }
}

/**
 * Runs a step: {"create":{order, "items":[...]}}, {"status":[number, status, by?], "template"?, "quiet"?},
 * {"page": number, "view"?}, or {"renew": {"subscription":{...}, "status"?, "transaction"?}}. @return int the order
 */
function shop(array $step): int
{
    if (isset($step['create'])) {
        $values = $step['create'] + ['user_id' => 51, 'user_email' => 'jo@example.com', 'order_state_id' => 5];
        unset($values['items']);
        $id = insert_row('orders', $values);
        $number = "1732660000$id";
        Host::$db->setQuery(
            'UPDATE #__' . j2() . "_orders SET order_id = '$number' WHERE " . j2() . "_order_id = $id"
        )->execute();
        insert_row('orderinfos', [
            'order_id' => $number, 'billing_first_name' => 'Gus', 'billing_last_name' => 'Guest',
        ]);

        foreach ($step['create']['items'] as $item) {
            insert_row('orderitems', $item + [
                'order_id' => $number, 'product_id' => 15, 'product_type' => 'simple', 'orderitem_quantity' => '1',
                'orderitem_name' => $item['orderitem_sku'] ?? 'An article',
            ]);
        }

        return $id;
    }

    if (isset($step['status'])) {
        set_status(...$step['status']);

        if (empty($step['quiet'])) {
            notify($step['status'][0], $step['template'] ?? 'Thank you. [ITEMS]');
        }

        return 0;
    }

    if (isset($step['page'])) {
        Host::$in['view'] = $step['view'] ?? 'myprofile';

        foreach (items($step['page']) as $item) {
            $event = fire(
                Host::since('6.0') ? 'AfterDisplayLineItemTitle' : 'AfterDisplayLineItemTitleInOrder',
                [$item, order($step['page']), new stdClass()]
            );
            echo implode('', $event->getArgument('result', []));
        }

        return 0;
    }

    $subscription = (object) $step['renew']['subscription'];
    $transaction = $step['renew']['transaction'] ?? null;

    // The payment service bills the renewal, so it has no order.
    if ($transaction !== null) {
        fire('SuccessRenewalPayment', [
            'subscription' => $subscription,
            'order' => (object) ['order_id' => $subscription->order_id, 'transaction_id' => $transaction],
            'updateRenewalDate' => true,
        ]);

        return 0;
    }

    $renewal = shop(['create' => ['items' => [['orderitem_sku' => $step['renew']['sku']]]]]);
    $number = "1732660000$renewal";

    if (Host::since('6.0')) {
        fire('ProcessRenewalPayment', [
            'payment_method' => 'payment_paypal', 'subscription' => $subscription, 'order' => order($number),
        ]);
        set_status($number, 1);
        fire('SuccessRenewalPayment', [
            'subscription' => $subscription, 'order' => order($number), 'updateRenewalDate' => true,
        ]);
    } else {
        fire('ProcessRenewalPayment', ['payment_paypal', $subscription, order($number)]);
        fire('SuccessRenewalPayment', [$subscription, order($number)]);
        set_status($number, 1);
    }

    return $renewal;
}

Host::$db->setQuery(
    'CREATE TABLE IF NOT EXISTS #__' . j2() . '_orders (' . j2() . '_order_id INTEGER PRIMARY KEY, order_id TEXT,'
    . ' user_id INTEGER, user_email TEXT, customer_language TEXT, order_state_id INTEGER,'
    . " order_total TEXT DEFAULT '10.00000', currency_code TEXT DEFAULT 'KWD', currency_value TEXT DEFAULT '0.50000');"
    . 'CREATE TABLE IF NOT EXISTS #__' . j2() . '_orderinfos (' . j2() . '_orderinfo_id INTEGER PRIMARY KEY, order_id TEXT,'
    . ' billing_first_name TEXT, billing_last_name TEXT);'
    . 'CREATE TABLE IF NOT EXISTS #__' . j2() . '_orderitems (' . j2() . '_orderitem_id INTEGER PRIMARY KEY, order_id TEXT,'
    . ' product_id INTEGER, product_type TEXT, orderitem_sku TEXT, orderitem_name TEXT, orderitem_quantity TEXT)'
)->execute();
