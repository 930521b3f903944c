// Parses the Prometheus text format.

export interface Sample {
  readonly name: string
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

export function readMetrics(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (match === null) return []
    const [, name, labels = '', value] = match
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key!, unescaped(text!)])
    return [{ name: name!, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, mark: string) => (mark === 'n' ? '\n' : mark))
}
