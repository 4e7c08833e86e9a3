<?php

namespace LicensingGateway\Plugin\System\ShopClass\Extension;

use Joomla\Event\EventInterface;
use LicensingGateway\Plugin\System\ShopClass\Texts;

\defined('_JEXEC') or die;

/**
 * Membership Pro's subscriptions. A subscription, and each renewal and upgrade of it, is a row with an id, which is the
 * order's number. Events and rows are those of Membership Pro 2024 and 2025, read in its source; the tests fire them in
 * that shape, without Membership Pro itself.
 */
final class Shop extends ShopPlugin
{
    const COMPONENT = 'com_osmembership';
    const REFUNDED = 4;

    /** Whom a mail of Membership Pro is for. */
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

            // Members of a group share the licence of who pays.
            if ($row === null || (int) ($row->group_admin_id ?? 0) > 0 || !$this->isLicensed((string) $row->plan_id)) {
                return;
            }

            $id = (int) $row->id;
            $act = (string) ($row->act ?? '');
            $first = in_array($act, ['renew', 'upgrade'], true) ? $this->firstOf($row) : 0;
            $line = ['line' => '1', 'sku' => (string) $row->plan_id, 'quantity' => 1];

            // Membership Pro stores UTC. The years before 1900 are its way to say none.
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

    /** An administrator changed the row. */
    public function update(EventInterface $event): void
    {
        $this->guard(function () use ($event) {
            $row = $this->rowOf($event);

            if ($row !== null) {
                $this->takeBack($row);
            }
        });
    }

    /** Puts the keys into the subscriber's mail. */
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

    /** The subscription; null if another extension has an event of this name. */
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

    /** @return bool whether the money went back */
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
            // Of an upgraded licence the first payment stands.
            $message = ['order' => (string) $order, 'partial' => true] + $this->total($row);
            $this->record($order, 'refunded', $message, [], "refunded-upgrade-$id");
        }

        return true;
    }

    /** The order that issued the licence which a row is about; 0: it was not posted. */
    private function orderOf(int $id): int
    {
        $paid = $this->outbox()->latest($id, ['paid']);

        if ($paid !== null) {
            return (int) (json_decode($paid->message, true)['lines'][0]['renews'] ?? $id);
        }

        $upgraded = $this->outbox()->byUniqueId("upgraded-$id");

        return $upgraded === null ? 0 : (int) $upgraded->order_id;
    }

    /** The order that issued what a renewal or an upgrade is about; 0: there is none, or it is older than this plugin. */
    private function firstOf($row): int
    {
        $plan = (int) $row->plan_id;

        if ($row->act === 'upgrade') {
            $plan = (int) $this->getDatabase()->setQuery(
                'SELECT from_plan_id FROM #__osmembership_upgraderules WHERE id = ' . (int) ($row->upgrade_option_id ?? 0)
            )->loadResult();
        }

        // Without an account nobody knows that it is the same person.
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

    /** Whether a renewal or an upgrade of the subscription is active, so that it has not ended. */
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
