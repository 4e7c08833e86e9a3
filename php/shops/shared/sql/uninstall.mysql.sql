DROP TABLE IF EXISTS `#__licensing_shopkind`;
