// How far apart two colors look, also to people who see two kinds of light instead of three.
// Simulation: Machado, Oliveira, Fernandes (2009), severity 1, in linear light. Distance: CIEDE2000 is not needed for a lower limit; this is
// the distance in Oklab, times 100.

type Triple = readonly [number, number, number]
type Matrix = readonly [Triple, Triple, Triple]

export const sights: { readonly [sight: string]: Matrix } = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

export function distance(a: string, b: string, sight: Matrix): number {
  const [x, y] = [oklab(seen(a, sight)), oklab(seen(b, sight))]
  return 100 * Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2])
}

/** Contrast of WCAG. */
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

function luminance(color: string): number {
  const [r, g, b] = linear(color)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function seen(color: string, sight: Matrix): Triple {
  return times(sight, linear(color)).map((part) => Math.max(0, Math.min(1, part))) as unknown as Triple
}

function linear(color: string): Triple {
  return [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as unknown as Triple
}

function times(matrix: Matrix, [x, y, z]: Triple): Triple {
  return matrix.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Triple
}

/** Björn Ottosson, 2020. */
function oklab(light: Triple): Triple {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    light,
  ).map(Math.cbrt) as unknown as Triple
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  )
}
