<?php

/**
 * Fires the events of HikaShop 4.7 when an order is saved, mailed and shown, at the same moments and with the same objects
 * as its class.order and class.mail. The object of an update has only the changed fields.
 */

use Joomla\CMS\Mail\Mail;

function hikashop_get(string $name): HikashopOrderClass
{
    return new HikashopOrderClass();
}

final class HikashopOrderClass
{
    public function loadFullOrder($orderId, $additionalData = false, $checkUser = true)
    {
        $order = $this->one('SELECT * FROM #__hikashop_order WHERE order_id = ' . (int) $orderId);
        $order->customer = Host::$db->setQuery(
            "SELECT * FROM #__hikashop_user WHERE user_id = $order->order_user_id"
        )->loadObjectList()[0] ?? null;
        $order->billing_address = (object) ['address_firstname' => 'Gus', 'address_lastname' => 'Guest'];
        $order->products = Host::$db->setQuery(
            "SELECT * FROM #__hikashop_order_product WHERE order_id = $order->order_id ORDER BY order_product_id"
        )->loadObjectList();

        return $order;
    }

    public function save(stdClass $order, array $step): void
    {
        $isNew = empty($order->order_id);
        $order->old = $isNew ? new stdClass() : $this->one("SELECT * FROM #__hikashop_order WHERE order_id = $order->order_id");

        if ($isNew) {
            $this->insert($order, $step['products']);
        } else {
            Host::$db->setQuery(
                'UPDATE #__hikashop_order SET order_status = ' . Host::$db->quote($order->order_status ?? $order->old->order_status)
                . " WHERE order_id = $order->order_id"
            )->execute();
        }

        $sendEmail = $isNew ? true : !empty($step['notify']);
        Host::$app->triggerEvent($isNew ? 'onAfterOrderCreate' : 'onAfterOrderUpdate', [&$order, &$sendEmail]);

        if ($sendEmail) {
            $this->mail($isNew ? 'order_creation_notification' : 'order_status_notification', $order, $step);
        }

        if ($isNew) {
            $this->mail('order_admin_notification', $order, $step);
        }
    }

    private function insert(stdClass $order, array $products): void
    {
        $quote = [Host::$db, 'quote'];
        Host::$db->setQuery(
            'INSERT INTO #__hikashop_order (order_user_id, order_number, order_status, order_type, order_lang) VALUES ('
            . "$order->order_user_id, '', " . $quote($order->order_status) . ', ' . $quote($order->order_type) . ', '
            . $quote($order->order_lang) . ')'
        )->execute();
        $order->order_id = Host::$db->setQuery('SELECT MAX(order_id) FROM #__hikashop_order')->loadResult();
        $order->order_number = "HIKA$order->order_id";
        Host::$db->setQuery(
            "UPDATE #__hikashop_order SET order_number = '$order->order_number' WHERE order_id = $order->order_id"
        )->execute();

        foreach ($products as $product) {
            Host::$db->setQuery(
                'INSERT INTO #__hikashop_order_product'
                . ' (order_id, order_product_code, order_product_name, order_product_quantity, earlier_order) VALUES ('
                . "$order->order_id, " . $quote($product['code']) . ', ' . $quote($product['name'] ?? $product['code']) . ', '
                . ($product['quantity'] ?? 1) . ', ' . $quote($product['earlier_order'] ?? '') . ')'
            )->execute();
        }
    }

    /** Sends a mail as loadOrderNotification and sendMail do. */
    private function mail(string $name, stdClass $order, array $step): void
    {
        $customer = $this->loadFullOrder($order->order_id)->customer;
        $mail = (object) ['mail_name' => $name, 'data' => &$order, 'html' => $step['html'] ?? 1];
        $text = $step['template'] ?? 'Thank you.';
        $mailer = new Mail();
        $mailer->addRecipient($name === 'order_admin_notification' ? 'shop@example.com' : $customer->user_email ?? '');
        $mailer->setSubject($name);
        $mailer->Body = $mail->html ? "<html><body>$text</body></html>" : $text;
        $mailer->AltBody = $mail->html ? $text : '';
        Host::$app->triggerEvent('onBeforeMailSend', [&$mail, &$mailer]);

        try {
            $mailer->send();
        } catch (Exception $fault) {
            // HikaShop records the failure in the order.
        }
    }

    private function one(string $sql): stdClass
    {
        return Host::$db->setQuery($sql)->loadObjectList()[0];
    }
}

/** Runs a step: {"create":{...}}, {"update":{...}} or {"page": order id}. @return int the order */
function shop(array $step): int
{
    $class = new HikashopOrderClass();

    if (isset($step['page'])) {
        $order = $class->loadFullOrder($step['page']);
        Host::$app->triggerEvent('onAfterOrderProductsListingDisplay', [&$order, 'order_front_show']);
        Host::$app->triggerEvent('onAfterOrderProductsListingDisplay', [&$order, 'order_back_invoice']);

        return $order->order_id;
    }

    $values = $step['create'] ?? $step['update'];
    $order = (object) ($values['order'] ?? []);

    if (isset($step['create'])) {
        $order->order_type = $order->order_type ?? 'sale';
        $order->order_lang = $order->order_lang ?? 'en-GB';
    }

    $class->save($order, $values);

    return (int) $order->order_id;
}

Host::$db->setQuery(
    'CREATE TABLE IF NOT EXISTS #__hikashop_order (order_id INTEGER PRIMARY KEY, order_user_id INTEGER, order_number TEXT,'
    . ' order_status TEXT, order_type TEXT, order_lang TEXT,'
    . " order_full_price TEXT DEFAULT '49.00000',"
    . ' order_currency_info TEXT DEFAULT \'O:8:"stdClass":1:{s:13:"currency_code";s:3:"EUR";}\');'
    . 'CREATE TABLE IF NOT EXISTS #__hikashop_order_product (order_product_id INTEGER PRIMARY KEY, order_id INTEGER,'
    . ' order_product_code TEXT, order_product_name TEXT, order_product_quantity INTEGER, earlier_order TEXT);'
    . 'CREATE TABLE IF NOT EXISTS #__hikashop_user (user_id INTEGER PRIMARY KEY, user_cms_id INTEGER, user_email TEXT, name TEXT)'
)->execute();
