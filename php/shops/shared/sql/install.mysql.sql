CREATE TABLE IF NOT EXISTS `#__licensing_shopkind` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `order_id` int unsigned NOT NULL,
  `event` varchar(20) NOT NULL,
  `event_id` varchar(40) NOT NULL,
  `state` varchar(10) NOT NULL,
  `attempts` int unsigned NOT NULL,
  `created_at` int unsigned NOT NULL,
  `due_at` int unsigned NOT NULL,
  `message` mediumtext NOT NULL,
  `details` mediumtext NOT NULL,
  `error` varchar(255) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_event` (`order_id`, `event_id`),
  KEY `idx_due` (`state`, `due_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 DEFAULT COLLATE=utf8mb4_unicode_ci;
