// What was measured on one set, as a table, and all sets as a picture of colored cells.
import type { Direction } from './directions.ts'

export interface Cell {
  readonly direction: Direction
  readonly share: number
  readonly recall: number
  /** CPU time divided by that of a search without a filter of the same recall, and of one at the same ef. */
  readonly cost: number
  readonly costAtEf: number
  readonly compared: number
  readonly plan: string
}

export interface Grid {
  readonly name: string
  readonly directions: readonly Direction[]
  readonly shares: readonly number[]
  readonly plain: { readonly recall: number; readonly cpu: number; readonly compared: number }
  readonly cells: readonly Cell[]
}

export const recallLeast = 0.95
export const costMost = 3

export function isGood({ recall, cost }: Cell): boolean {
  return recall >= recallLeast && cost <= costMost
}

/** The lines of a table in Markdown. */
export function tableOf({ name, plain, directions, shares, cells }: Grid): string[] {
  const find = (direction: Direction, share: number) =>
    cells.find((cell) => cell.direction === direction && cell.share === share)
  const text = (cell: Cell | undefined) => {
    if (cell === undefined) return ''
    const figures = `${cell.recall.toFixed(3)}, ${cell.cost.toFixed(2)} (${cell.costAtEf.toFixed(2)}) ${cell.plan}`
    return isGood(cell) ? figures : `**${figures}**`
  }
  return [
    `## ${name}`,
    '',
    `Without a filter: recall ${plain.recall.toFixed(4)}, ${plain.cpu.toFixed(3)} ms, ${Math.round(plain.compared).toLocaleString('en')} comparisons.`,
    '',
    `| direction | ${shares.map((share) => `${share * 100} %`).join(' | ')} |`,
    `|---|${shares.map(() => '---').join('|')}|`,
    ...directions.map((one) => `| ${one} | ${shares.map((share) => text(find(one, share))).join(' | ')} |`),
    '',
  ]
}

const [cellWidth, cellHeight, left, gap] = [120, 24, 90, 46]

/** One block of cells for each set: the color is the recall, the text the recall and the cost. */
export function drawGrid(grids: readonly Grid[]): string {
  let top = 10
  const parts: string[] = []
  for (const { name, directions, shares, cells } of grids) {
    parts.push(`<text x="10" y="${top + 14}" font-weight="bold">${name}</text>`)
    shares.forEach((share, i) => {
      parts.push(`<text x="${left + i * cellWidth + 4}" y="${top + 34}">${share * 100} %</text>`)
    })
    directions.forEach((direction, row) => {
      const y = top + 40 + row * cellHeight
      parts.push(`<text x="10" y="${y + 16}">${direction}</text>`)
      shares.forEach((share, i) => {
        const cell = cells.find((one) => one.direction === direction && one.share === share)
        if (cell === undefined) return
        const color = cell.recall < recallLeast ? '#f4a6a6' : cell.cost > costMost ? '#f6dc9c' : '#b9e2b4'
        const x = left + i * cellWidth
        parts.push(`<rect x="${x}" y="${y}" width="${cellWidth - 2}" height="${cellHeight - 2}" fill="${color}"/>`)
        parts.push(`<text x="${x + 4}" y="${y + 16}">${cell.recall.toFixed(3)}  ${cell.cost.toFixed(1)} x</text>`)
      })
    })
    top += 40 + directions.length * cellHeight + gap
  }
  const width = left + cellWidth * Math.max(0, ...grids.map(({ shares }) => shares.length)) + 10
  const legend = `<text x="10" y="${top}">recall@10 and CPU time relative to a search without a filter of the same recall; green: at least ${recallLeast} and at most ${costMost} x</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top + 20}" font-family="sans-serif" font-size="12">\n${[...parts, legend].join('\n')}\n</svg>\n`
}
