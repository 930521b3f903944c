// Draws speed against selectivity as SVG: the share of matching rows on a logarithmic scale, and the speed relative to a search without a
// filter.
export interface Curve {
  readonly label: string
  readonly points: readonly { readonly share: number; readonly speed: number }[]
}

export function drawSelectivity(curves: readonly Curve[], aim: number): string {
  const [width, height, left, top, bottom] = [900, 420, 60, 20, 60]
  const high = Math.max(2, ...curves.flatMap(({ points }) => points.map(({ speed }) => speed)))
  const x = (share: number) => left + ((Math.log10(share) + 4) / 4) * (width - left - 200)
  const y = (speed: number) => top + (1 - Math.min(1, speed / high)) * (height - top - bottom)
  const colors = ['#1f77b4', '#ff7f0e', '#2ca02c']
  const lines = curves.map(({ label, points }, i) => {
    const color = colors[i % colors.length]
    const path = points.map(({ share, speed }) => `${x(share).toFixed(1)},${y(speed).toFixed(1)}`).join(' ')
    const text = `<text x="${width - 190}" y="${top + 20 + i * 20}" fill="${color}">${label}</text>`
    return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${path}"/>${text}`
  })
  const level = (speed: number, color: string) =>
    `<line x1="${left}" y1="${y(speed)}" x2="${width - 200}" y2="${y(speed)}" stroke="${color}"/><text x="${left - 8}" y="${y(speed) + 4}" text-anchor="end">${speed}</text>`
  const levels = [level(0, '#ddd'), level(1, '#ddd'), level(2, '#ddd'), level(aim, '#d62728')]
  const marks = [0.0001, 0.001, 0.01, 0.1, 1].map(
    (share) => `<text x="${x(share)}" y="${height - 35}" text-anchor="middle">${share * 100} %</text>`,
  )
  const frame = `<text x="${left}" y="${height - 10}">share of matching rows; speed relative to a search without a filter</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="13">\n${[...levels, ...marks, ...lines, frame].join('\n')}\n</svg>\n`
}
