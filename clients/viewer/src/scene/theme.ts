// Colours of the scene, light and dark.

import * as THREE from "three";
import type { Body } from "../protocol";

export interface Theme {
  sky: number;
  ground: number;
  minor: number;
  major: number;
  hemisphere: [number, number, number];
  sun: number;
  rays: number;
  camera: number;
  force: number;
  selected: number;
}

export const LIGHT: Theme = {
  sky: 0xe9eef4,
  ground: 0xd3dae2,
  minor: 0xb9c3ce,
  major: 0x94a2b2,
  hemisphere: [0xffffff, 0xc4c0b6, 1.9],
  sun: 2.2,
  rays: 0xd0342c,
  camera: 0x0f766e,
  force: 0xd98207,
  selected: 0x2563eb,
};

export const DARK: Theme = {
  sky: 0x12171e,
  ground: 0x232b35,
  minor: 0x465364,
  major: 0x6a7b90,
  hemisphere: [0xc9d8ee, 0x39404b, 1.6],
  sun: 2.0,
  rays: 0xff6b62,
  camera: 0x4fd1c5,
  force: 0xffb54a,
  selected: 0x6ea8ff,
};

/** Red, green and blue for first, second and third axis. */
export const AXES = [0xe0483e, 0x2f9e57, 0x3b74e8];

const ROBOTS = [0x4f7fb8, 0xc4783c, 0x5c9c74, 0x9a6fb5, 0xb9577a, 0x4b9aa5];
const OBJECT = 0xc2a878;
const FIXED = 0x98a1ac;
const ROLLS = 0x565f6a;
const LIMB = 0xa9b2bd;

/** A body's colour: robots each in their own, what rolls dark, limbs of metal. */
export function bodyColour(body: Body, robots: string[]): THREE.Color {
  if (body.robot === null) return new THREE.Color(body.fixed ? FIXED : OBJECT);
  if (body.shape?.kind === "cylinder" || body.shape?.kind === "sphere") return new THREE.Color(ROLLS);
  if (body.shape?.kind === "capsule") return new THREE.Color(LIMB);
  const colour = new THREE.Color(ROBOTS[robots.indexOf(body.robot) % ROBOTS.length]);
  const hash = [...body.name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 997, 7);
  return colour.offsetHSL(0, 0, ((hash % 5) - 2) * 0.025);
}
