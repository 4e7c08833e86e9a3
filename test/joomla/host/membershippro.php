<?php

/**
 * Fires the events of Membership Pro when a subscription is paid, changed by an administrator, or ends, at the same moments
 * and with the same arguments. Since 2024 its events are classes of its own; before, they were arrays.
 */

use Joomla\CMS\Mail\Mail;
use Joomla\Event\Event;

function trigger(string $name, stdClass $row): void
{
    Host::$app->triggerEvent($name, Host::since('5.0') ? new Event($name, ['row' => $row]) : [$row]);
}

function subscription(int $id): stdClass
{
    return Host::$db->setQuery("SELECT * FROM #__osmembership_subscribers WHERE id = $id")->loadObjectList()[0];
}

function change(int $id, array $values): stdClass
{
    foreach ($values as $name => $value) {
        Host::$db->setQuery(
            "UPDATE #__osmembership_subscribers SET $name = " . Host::$db->quote((string) $value) . " WHERE id = $id"
        )->execute();
    }

    return subscription($id);
}

/** Sends a mail as OSMembershipHelperMail::send() does. */
function mail_to(string $address, int $sentTo, stdClass $row, string $body): void
{
    $mailer = new Mail();
    $mailer->addRecipient($address);
    $event = new Event('onMPBeforeSendingEmail', [
        'mailer' => $mailer,
        'subject' => 'new_subscription_emails',
        'body' => "<html><body>$body</body></html>",
        'sentTo' => $sentTo,
        'emailType' => 'new_subscription_emails',
        'row' => $row,
    ]);
    Host::$app->triggerEvent('onMPBeforeSendingEmail', $event);
    $mailer->setSubject($event->getArgument('subject'))->setBody($event->getArgument('body'))->send();
}

/**
 * Runs a step: {"pay":{row},"template"} like onPaymentSuccess, {"edit":{"id",...}} like an administrator's form,
 * {"expire": id}, or {"event": name, "row": {...}} like another extension's event. @return int the row
 */
function shop(array $step): int
{
    if (isset($step['event'])) {
        trigger($step['event'], (object) $step['row']);

        return 0;
    }

    if (isset($step['expire'])) {
        $row = change($step['expire'], ['published' => 2]);
        trigger('onMembershipExpire', $row);

        return $row->id;
    }

    if (isset($step['edit'])) {
        $before = subscription($step['edit']['id']);
        $row = change($before->id, $step['edit']);

        if ($before->published != 1 && $row->published == 1) {
            trigger('onMembershipActive', $row);
        } elseif ($before->published == 1 && $row->published != 1) {
            trigger('onMembershipExpire', $row);
        }

        trigger('onMembershipUpdate', $row);

        return $row->id;
    }

    Host::$db->setQuery("INSERT INTO #__osmembership_subscribers (published) VALUES ('1')")->execute();
    $id = Host::$db->setQuery('SELECT MAX(id) FROM #__osmembership_subscribers')->loadResult();
    $row = change($id, $step['pay']);

    if ($row->act === 'upgrade') {
        $from = Host::$db->setQuery(
            'SELECT earlier.id FROM #__osmembership_subscribers AS earlier INNER JOIN #__osmembership_upgraderules AS rule'
            . " ON rule.id = $row->upgrade_option_id AND rule.from_plan_id = earlier.plan_id"
            . " WHERE earlier.user_id = $row->user_id AND earlier.published = 1"
        )->loadObjectList();

        foreach ($from as $earlier) {
            trigger('onMembershipExpire', change($earlier->id, ['published' => 2, 'to_date' => gmdate('Y-m-d H:i:s')]));
        }
    }

    trigger('onMembershipActive', $row);
    mail_to($row->email, 2, $row, $step['template'] ?? 'Welcome.');
    mail_to('shop@example.com', 1, $row, 'A new subscription.');

    return $id;
}

Host::$db->setQuery(
    'CREATE TABLE IF NOT EXISTS #__osmembership_subscribers (id INTEGER PRIMARY KEY, plan_id INTEGER, user_id INTEGER DEFAULT 0,'
    . " first_name TEXT, last_name TEXT, email TEXT, act TEXT DEFAULT 'subscribe', published INTEGER, to_date TEXT,"
    . " group_admin_id INTEGER DEFAULT 0, upgrade_option_id INTEGER DEFAULT 0, refunded INTEGER DEFAULT 0, language TEXT DEFAULT '*',"
    . " gross_amount TEXT DEFAULT '1200.00', payment_currency TEXT DEFAULT 'JPY');"
    . 'CREATE TABLE IF NOT EXISTS #__osmembership_plans (id INTEGER PRIMARY KEY, title TEXT);'
    . 'CREATE TABLE IF NOT EXISTS #__osmembership_upgraderules (id INTEGER PRIMARY KEY, from_plan_id INTEGER, to_plan_id INTEGER)'
)->execute();
