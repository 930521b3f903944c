// The attacking process of hostile-load.test.ts: hostile bodies of every shape to every route, as large as allowed or larger, many at a
// time. Arguments: address, number, and how many at a time, 4 by default. Prints the outcomes as JSON.
import http from 'node:http'
import { listRoutes, otherRoutes, queryRoutes, sendBody, types } from './hostile-clients.ts'
import { chunksOf, frames, hostileShapes, wideShapes } from './hostile-shapes.ts'

const mebibyte = 1_048_576
interface Attack {
  readonly route: string
  readonly frame: keyof typeof frames
  readonly bytes: number
}

const attacks: Attack[] = [
  ...listRoutes.map(([route, frame]) => ({ route, frame, bytes: (frame === 'updates' ? 15 : 95) * mebibyte })),
  ...queryRoutes.map((route) => ({ route, frame: 'objects' as const, bytes: 8 * mebibyte - 1_024 })),
  ...otherRoutes()
    .filter((route) => !queryRoutes.includes(route))
    .map((route) => ({ route, frame: 'objects' as const, bytes: mebibyte - 1_024 })),
]

const [, , url = '', count = '0', atOnce = '4'] = process.argv
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(atOnce) })
const tally: Record<string, number> = {}
let next = 0

async function attack(): Promise<void> {
  while (next < Number(count)) {
    const i = next++
    // A third of them to each kind of route; shapes and lengths change with every round.
    const kind = [attacks.slice(0, 4), attacks.slice(4, 4 + queryRoutes.length), attacks.slice(4 + queryRoutes.length)][
      i % 3
    ]!
    const round = Math.floor(i / 3)
    const { route, frame, bytes } = kind[round % kind.length]!
    const shapes = [...hostileShapes(frames[frame], bytes), ...wideShapes]
    const shape = shapes[Math.floor(round / kind.length + 7 * round) % shapes.length]!
    const [method = '', path = ''] = route.split(' ')
    const upload = {
      method,
      path,
      type: types[shape.format],
      bytes,
      chunks: chunksOf(shape, bytes),
      declares: i % 2 === 0,
    }
    const { status, code } = await sendBody(url, upload, agent).catch((error: Error) => ({
      status: 0,
      code: error.message,
    }))
    const what = status === 200 ? '200' : `${status} ${code}`
    tally[what] = (tally[what] ?? 0) + 1
  }
}

await Promise.all(Array.from({ length: Number(atOnce) }, attack))
console.log(JSON.stringify(tally))
process.exit(0)
