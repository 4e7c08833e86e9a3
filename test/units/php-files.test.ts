import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { php72Faults } from '../support/php-files';
import { temporaryFolder } from '../support/processes';

/** Tests the check of PHP for customers' sites, which has to find code that PHP 7.2 cannot read. */

function faultsIn(code: string): string[] {
  const file = join(temporaryFolder(), 'x.php');
  writeFileSync(file, `<?php\n\n${code}\n`);
  return php72Faults([file]);
}

it.each([
  'class A { private int $x; }',
  '$f = fn ($x) => $x;',
  '$a?->b();',
  'f($a,);',
  'function f($a,) {}',
  '$a = match ($x) { 1 => 2 };',
  '$a ??= 1;',
  '$a = [...$b];',
  'f(a: 1);',
  'class A { function __construct(private $x) {} }',
  'function f(int|string $a) {}',
  'function f($a): int|string {}',
  'try {} catch (E) {}',
  '$a = <<<X\n  a\n  X;',
  '$a = 1_000;',
  'echo $a::class;',
  '#[A]\nclass B {}',
  'function f(): static {}',
  'function f(mixed $a) {}',
  'function f(): never {}',
  '$a = $b ?? throw new E();',
  'enum A { case B; }',
  'class A { public readonly int $x; }',
  '$f = strlen(...);',
  '[&$a] = $b;',
  'class A { const int X = 1; }',
  "str_contains('a', 'b');",
  'json_decode($a, true, 9, JSON_THROW_ON_ERROR);',
])('finds that PHP 7.2 does not know %s', (code) => {
  expect(faultsIn(code)).not.toEqual([]);
});

it('finds nothing in code that PHP 7.2 reads', () => {
  const code = `
    abstract class A implements B {
      use C;
      const X = [1, 2,];
      private $x = self::X;
      public static function f(?string $a, array &$b = [], ...$c): ?array {
        list($d, $e) = [&$b, $a ?? (isset($c['x']) ? 1 : 2)];
        [$d, , $e] = $b;
        return (new class ($d) extends D {})->g(function ($x) use (&$e) { return $x <=> $e; }, ...$c);
      }
      private function h(): void { try { yield 1; } catch (E | F $g) { throw $g; } finally { echo A::class | 1; } }
    }`;
  expect(faultsIn(code)).toEqual([]);
});
