<?php

namespace LicensingGateway\Plugin\System\ShopClass\Extension;

use Joomla\Event\EventInterface;
use LicensingGateway\Plugin\System\ShopClass\Texts;

\defined('_JEXEC') or die;

/**
 * The plugin for Membership Pro's subscriptions. A subscription, and each renewal and upgrade of it, is a row whose id
 * is the order's number. Events and rows are those of Membership Pro 2024 and 2025, according to its source. The tests
 * fire events in this form, without Membership Pro itself.
 */
final class Shop extends ShopPlugin
{
    const COMPONENT = 'com_osmembership';
    const REFUNDED = 4;

    /** The value of `sentTo` for a mail to the subscriber. */
    const TO_SUBSCRIBER = 2;

    protected static function shopEvents(): array
    {
        return [
            'onMembershipActive' => 'activate',
            'onMembershipExpire' => 'expire',
            'onMembershipUpdate' => 'update',
            'onMPBeforeSendingEmail' => 'writeMail',
        ];
    }

    public function activate(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $row = $this->rowOf($event);

            // Members of a group share the licence of the member who pays.
            if ($row === null || (int) ($row->group_admin_id ?? 0) > 0 || !$this->isLicensed((string) $row->plan_id)) {
                return;
            }

            $id = (int) $row->id;
            $act = (string) ($row->act ?? '');
            $first = in_array($act, ['renew', 'upgrade'], true) ? $this->firstOf($row) : 0;
            $line = ['line' => '1', 'sku' => (string) $row->plan_id, 'quantity' => 1];

            // Membership Pro stores UTC. Years before 1900 mean no end.
            if (preg_match('/^((?:19|2\d)\d\d-\d\d-\d\d) (\d\d:\d\d:\d\d)$/D', (string) ($row->to_date ?? ''), $end)) {
                $line['paid_until'] = $end[1] . 'T' . $end[2] . 'Z';
            }

            if ($act === 'upgrade' && $first > 0) {
                $message = ['order' => (string) $first, 'lines' => [$line]] + $this->total($row);
                $this->record($first, 'upgraded', $message, [], "upgraded-$id");
            } elseif (!$this->isPaid($id)) {
                $this->pay($row, $first > 0 ? $line + ['renews' => (string) $first] : $line);
            }
        });
    }

    public function expire(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $row = $this->rowOf($event);

            if ($row === null || $this->takeBack($row) || $this->goesOn($row)) {
                return;
            }

            $first = $this->orderOf((int) $row->id);

            if ($first > 0) {
                $message = ['order' => (string) $first];
                $this->record($first, 'subscription_ended', $message, [], "ended-$row->id");
            }
        });
    }

    /** Handles a change of the row by an administrator. */
    public function update(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $row = $this->rowOf($event);

            if ($row !== null) {
                $this->takeBack($row);
            }
        });
    }

    /** Adds the keys to the subscriber's mail. */
    public function writeMail(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $row = $event->getArgument('row');
            $body = (string) $event->getArgument('body');
            $id = (int) ($row->id ?? 0);

            if ($id === 0 || (int) $event->getArgument('sentTo') !== self::TO_SUBSCRIBER) {
                return;
            }

            if (strpos($body, self::MARK) === false && !$this->isNew($id)) {
                return;
            }

            list($said, $tag) = $this->keysFor($id);
            $event->setArgument('body', Texts::insert($body, self::MARK, $said ? Texts::asHtml($said, $tag) : '', true));
        });
    }

    /** Returns the subscription; null if the event belongs to another extension. */
    private function rowOf(EventInterface $event)
    {
        $row = array_values($event->getArguments())[0] ?? null;

        return is_object($row) && isset($row->id, $row->plan_id, $row->email) ? $row : null;
    }

    private function pay($row, array $line): void
    {
        $title = $this->getDatabase()->setQuery(
            'SELECT title FROM #__osmembership_plans WHERE id = ' . (int) $row->plan_id
        )->loadResult();
        $language = (string) ($row->language ?? '');
        $customer = [
            'email' => (string) $row->email,
            'name' => trim(($row->first_name ?? '') . ' ' . ($row->last_name ?? '')),
        ];
        $message = ['order' => (string) $row->id, 'customer' => array_filter($customer), 'lines' => [$line]];
        $this->record((int) $row->id, 'paid', $message + $this->total($row), [
            'names' => ['1' => (string) $title],
            'language' => in_array($language, ['', '*'], true)
                ? $this->getApplication()->getLanguage()->getTag()
                : $language,
        ]);
    }

    private function total($row): array
    {
        return $this->money($row->gross_amount ?? '', strtoupper((string) ($row->payment_currency ?? '')));
    }

    /** Records a refund. @return bool whether the money was returned */
    private function takeBack($row): bool
    {
        $id = (int) $row->id;

        if ((int) ($row->published ?? 0) !== self::REFUNDED && empty($row->refunded)) {
            return false;
        }

        $order = $this->orderOf($id);

        if ($this->isPaid($id)) {
            $this->record($id, 'refunded', ['order' => (string) $id] + $this->total($row));
        } elseif ($order > 0 && $this->outbox()->byEventId($order, "upgraded-$id") !== null) {
            // The refund is partial, because the first payment of the upgraded licence is kept.
            $message = ['order' => (string) $order, 'partial' => true] + $this->total($row);
            $this->record($order, 'refunded', $message, [], "refunded-upgrade-$id");
        }

        return true;
    }

    /** Returns the order that issued a row's licence; 0 if it was not posted. */
    private function orderOf(int $id): int
    {
        $paid = $this->outbox()->latest($id, ['paid']);

        if ($paid !== null) {
            return (int) (json_decode($paid->message, true)['lines'][0]['renews'] ?? $id);
        }

        $upgraded = $this->outbox()->byUniqueId("upgraded-$id");

        return $upgraded === null ? 0 : (int) $upgraded->order_id;
    }

    /** Returns the order that issued the licence of a renewal or upgrade; 0 if unknown, or older than this plugin. */
    private function firstOf($row): int
    {
        $plan = (int) $row->plan_id;

        if ($row->act === 'upgrade') {
            $plan = (int) $this->getDatabase()->setQuery(
                'SELECT from_plan_id FROM #__osmembership_upgraderules WHERE id = ' . (int) ($row->upgrade_option_id ?? 0)
            )->loadResult();
        }

        // Without an account, the customer cannot be recognised.
        if ((int) ($row->user_id ?? 0) === 0) {
            return 0;
        }

        $id = (int) $this->getDatabase()->setQuery(
            'SELECT id FROM #__osmembership_subscribers WHERE user_id = ' . (int) $row->user_id
            . " AND plan_id = $plan AND group_admin_id = 0 AND published IN (1, 2) AND id < " . (int) $row->id
            . ' ORDER BY id DESC LIMIT 1'
        )->loadResult();

        return $id === 0 ? 0 : $this->orderOf($id);
    }

    /** Reports whether a renewal or upgrade of the subscription is active, so that the subscription has not ended. */
    private function goesOn($row): bool
    {
        if ((int) ($row->user_id ?? 0) === 0) {
            return false;
        }

        $plan = (int) $row->plan_id;

        return (bool) $this->getDatabase()->setQuery(
            'SELECT COUNT(*) FROM #__osmembership_subscribers AS other'
            . ' LEFT JOIN #__osmembership_upgraderules AS rule ON rule.id = other.upgrade_option_id'
            . ' WHERE other.user_id = ' . (int) $row->user_id . ' AND other.id <> ' . (int) $row->id
            . " AND other.published = 1 AND other.group_admin_id = 0"
            . " AND (other.plan_id = $plan OR (other.act = 'upgrade' AND rule.from_plan_id = $plan))"
        )->loadResult();
    }
}
