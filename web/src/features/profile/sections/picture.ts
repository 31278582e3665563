import { avatarLimits } from '#services/identity/contract.ts';
import { UnusablePicture } from './unusable-picture.ts';

/**
 * Redraws the middle of a chosen image as a small square picture. Even a phone's photo then fits,
 * and its metadata, such as the place, is gone.
 */
const sidesPx = [512, 384, 256, 128] as const;
const qualities = [0.9, 0.75, 0.6] as const;
/** Larger files are not opened: decoded they may need more memory than a phone has. */
const largestFileBytes = 60_000_000;

/** @throws UnusablePicture */
export async function squarePicture(file: Blob): Promise<Blob> {
  if (file.size > largestFileBytes)
    throw new UnusablePicture('This file is too large. Choose one under 60 MB.');
  const image = await opened(file);
  try {
    for (const side of sidesPx) {
      const canvas = drawn(image, side);
      for (const quality of qualities) {
        const picture = await encoded(canvas, quality);
        if (picture.size <= avatarLimits.bytes) return picture;
      }
    }
  } finally {
    image.close();
  }
  throw new UnusablePicture("We couldn't shrink this picture enough. Choose another.");
}

async function opened(file: Blob): Promise<ImageBitmap> {
  try {
    return await createImageBitmap(file, { imageOrientation: 'from-image' });
  } catch (cause) {
    throw new UnusablePicture(
      "This browser can't open that file as a picture. Choose a PNG, JPEG, or WebP.",
      { cause },
    );
  }
}

/** The middle of the image. Transparent parts become white, because JPEG has no transparency. */
function drawn(image: ImageBitmap, longestSide: number): HTMLCanvasElement {
  const cut = Math.min(image.width, image.height);
  const side = Math.min(longestSide, cut);
  const canvas = document.createElement('canvas');
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext('2d');
  if (!context) throw new UnusablePicture('This browser cannot prepare pictures.');
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, side, side);
  context.imageSmoothingQuality = 'high';
  const left = (image.width - cut) / 2;
  const top = (image.height - cut) / 2;
  context.drawImage(image, left, top, cut, cut, 0, 0, side, side);
  return canvas;
}

/** WebP where the browser can write it; others return PNG, and then JPEG is used. */
async function encoded(canvas: HTMLCanvasElement, quality: number): Promise<Blob> {
  const webp = await blobOf(canvas, 'image/webp', quality);
  if (webp?.type === 'image/webp') return webp;
  const jpeg = await blobOf(canvas, 'image/jpeg', quality);
  if (jpeg?.type === 'image/jpeg') return jpeg;
  throw new UnusablePicture('This browser cannot prepare pictures.');
}

function blobOf(canvas: HTMLCanvasElement, type: string, quality: number): Promise<Blob | null> {
  return new Promise((resolve) => {
    canvas.toBlob(resolve, type, quality);
  });
}

/** A data URL, which the content policy allows in a page. */
export function dataAddress(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') resolve(reader.result);
    });
    reader.addEventListener('error', () => reject(reader.error ?? new Error('Unreadable')));
    reader.readAsDataURL(blob);
  });
}
