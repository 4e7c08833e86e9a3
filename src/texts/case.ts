export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function uncapitalized(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

export function capitalizedEach<Name extends string>(texts: Record<Name, string>): Record<Name, string> {
  const written = Object.entries<string>(texts).map(([name, text]) => [name, capitalized(text)]);
  return Object.fromEntries(written) as Record<Name, string>;
}

export function endsSentence(text: string | null): boolean {
  return text !== null && /[.!?]$/.test(text);
}

/** Returns a written number with its noun, in singular or plural: `1 site`, `3 sites`. */
export function counted(written: string, one: string, several: string): string {
  return `${written} ${written === '1' ? one : several}`;
}
