// Draws figures of one unit as bars, in SVG that takes its colors from the page.

export interface Bar {
  readonly name: string
  readonly value: number
}

const [row, labelWidth, barWidth, valueWidth] = [24, 330, 300, 90]

export function bars(list: readonly Bar[]): string {
  const most = Math.max(...list.map(({ value }) => value))
  const height = list.length * row
  const rows = list.map(({ name, value }, i) => {
    const width = most > 0 ? Math.max(1, (value / most) * barWidth) : 1
    const middle = i * row + row / 2
    return [
      `<text x="${labelWidth - 10}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="bar" x="${labelWidth}" y="${middle - 7}" width="${width.toFixed(1)}" height="14" rx="2"/>`,
      `<text x="${(labelWidth + width + 8).toFixed(1)}" y="${middle + 4}">${shown(value)}</text>`,
    ].join('')
  })
  const width = labelWidth + barWidth + valueWidth
  return `<svg class="bars" viewBox="0 0 ${width} ${height}" role="img" font-size="13">${rows.join('')}</svg>`
}

function shown(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
