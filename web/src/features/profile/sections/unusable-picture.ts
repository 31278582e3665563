/** Why a chosen file cannot become a picture, in a sentence for the user. */
export class UnusablePicture extends Error {
  override readonly name = 'UnusablePicture';
}
