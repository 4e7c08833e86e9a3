<?php

namespace LicensingGateway\Plugin\System\ShopClass;

use Joomla\Database\DatabaseInterface;

\defined('_JEXEC') or die;

/**
 * The outbox: the events of the site's orders that are to be posted, or were posted. It never contains licence keys.
 *
 * States: unsent; waiting, if the service has the event but an article is not mapped yet; done; failed, if the service
 * refused it.
 */
final class Outbox
{
    const TABLE = '#__licensing_shopkind';
    const MAX_ERROR = 200;

    private $db;

    public function __construct(DatabaseInterface $db)
    {
        $this->db = $db;
    }

    /** Adds an event. @return bool whether it is new */
    public function add(int $orderId, string $event, string $eventId, array $message, array $details, int $now): bool
    {
        if ($this->byEventId($orderId, $eventId) !== null) {
            return false;
        }

        // While the service is away, new events wait for the next common retry.
        $away = (int) $this->db->setQuery(
            'SELECT MAX(due_at) FROM ' . self::TABLE . " WHERE state = 'unsent' AND attempts > 0"
        )->loadResult();
        $values = [
            $orderId, $this->db->quote($event), $this->db->quote($eventId), "'unsent'", 0, $now, max($now, $away),
            $this->quoteJson($message), $this->quoteJson($details), "''",
        ];

        try {
            $this->db->setQuery(
                'INSERT INTO ' . self::TABLE
                . ' (order_id, event, event_id, state, attempts, created_at, due_at, message, details, error)'
                . ' VALUES (' . implode(', ', $values) . ')'
            )->execute();
        } catch (\RuntimeException $fault) {
            // Another request may have added it meanwhile.
            if ($this->byEventId($orderId, $eventId) === null) {
                throw $fault;
            }

            return false;
        }

        return true;
    }

    /** Stores a fact that the service need not know, at most once. The event's id is its name. */
    public function note(int $orderId, string $event, array $details, int $now): void
    {
        if ($this->add($orderId, $event, $event, [], $details, $now)) {
            $this->db->setQuery(
                'UPDATE ' . self::TABLE . " SET state = 'done' WHERE order_id = $orderId AND event_id = "
                . $this->db->quote($event)
            )->execute();
        }
    }

    public function byEventId(int $orderId, string $eventId)
    {
        return $this->first('order_id = ' . $orderId . ' AND event_id = ' . $this->db->quote($eventId));
    }

    /** Returns the event with an id that is unique among all orders. */
    public function byUniqueId(string $eventId)
    {
        return $this->first('event_id = ' . $this->db->quote($eventId));
    }

    /** Returns the latest of these events of an order; null without such an event. */
    public function latest(int $orderId, array $events)
    {
        return $this->first($this->areEvents($orderId, $events));
    }

    /** Returns the latest event of an order; null without an event. */
    public function last(int $orderId)
    {
        return $this->first("order_id = $orderId");
    }

    public function count(int $orderId, array $events): int
    {
        return (int) $this->db->setQuery(
            'SELECT COUNT(*) FROM ' . self::TABLE . ' WHERE ' . $this->areEvents($orderId, $events)
        )->loadResult();
    }

    /** Returns due events: first the unsent ones, oldest first, then the waiting ones. */
    public function due(int $now, int $limit, bool $withWaiting): array
    {
        $states = $withWaiting ? "'unsent', 'waiting'" : "'unsent'";

        return $this->db->setQuery(
            'SELECT * FROM ' . self::TABLE . " WHERE state IN ($states) AND due_at <= $now"
            . " ORDER BY state, id LIMIT $limit"
        )->loadObjectList();
    }

    /** Claims an event, so that other requests do not post it too. @return bool whether this request may post it */
    public function claim(\stdClass $row, int $until): bool
    {
        $this->db->setQuery(
            'UPDATE ' . self::TABLE . " SET due_at = $until WHERE id = $row->id AND due_at = $row->due_at"
            . ' AND state = ' . $this->db->quote($row->state)
        )->execute();

        return $this->db->getAffectedRows() > 0;
    }

    /** Stores the result of an event. The customer's address is deleted when it is no longer needed. */
    public function settle(\stdClass $row, string $state, int $dueAt, array $details, string $error = ''): void
    {
        $message = json_decode($row->message, true);

        if ($state === 'done') {
            unset($message['customer'], $details['customer']);
        }

        $this->db->setQuery(
            'UPDATE ' . self::TABLE . ' SET state = ' . $this->db->quote($state) . ", due_at = $dueAt"
            . ', message = ' . $this->quoteJson($message) . ', details = ' . $this->quoteJson($details)
            . ', error = ' . $this->quoteError($error) . " WHERE id = $row->id"
        )->execute();
    }

    /** Postpones after a try without an answer. All unsent events wait, so that an order's events keep their order. */
    public function postpone(\stdClass $row, int $dueAt, string $error): void
    {
        $this->db->setQuery(
            'UPDATE ' . self::TABLE . ' SET attempts = attempts + 1, error = ' . $this->quoteError($error)
            . " WHERE id = $row->id"
        )->execute();
        $this->db->setQuery(
            'UPDATE ' . self::TABLE . " SET due_at = $dueAt WHERE id = $row->id OR state = 'unsent'"
        )->execute();
    }

    /** Makes refused and unsent events due again. */
    public function tryAgain(int $now): void
    {
        $this->db->setQuery(
            'UPDATE ' . self::TABLE . " SET state = 'unsent', due_at = $now WHERE state IN ('unsent', 'failed')"
        )->execute();
    }

    /** @return array the number of events in a state since before a time, and the latest of them or null */
    public function standing(string $state, int $before): array
    {
        $where = 'state = ' . $this->db->quote($state) . " AND created_at < $before";
        $number = (int) $this->db->setQuery('SELECT COUNT(*) FROM ' . self::TABLE . " WHERE $where")->loadResult();

        return [$number, $number > 0 ? $this->first($where) : null];
    }

    private function areEvents(int $orderId, array $events): string
    {
        return "order_id = $orderId AND event IN (" . implode(', ', array_map([$this->db, 'quote'], $events)) . ')';
    }

    private function first(string $where)
    {
        $rows = $this->db->setQuery(
            'SELECT * FROM ' . self::TABLE . " WHERE $where ORDER BY id DESC LIMIT 1"
        )->loadObjectList();

        return $rows[0] ?? null;
    }

    private function quoteError(string $error): string
    {
        $line = preg_replace('/[\x00-\x1f\x7f]+/', ' ', $error);

        return $this->db->quote(preg_match('/^.{' . self::MAX_ERROR . '}(?=.)/us', $line, $cut) ? $cut[0] . '...' : $line);
    }

    private function quoteJson(array $value): string
    {
        return $this->db->quote(json_encode($value, JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE));
    }
}
