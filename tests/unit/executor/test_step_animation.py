"""Animations of pictures."""

from io import BytesIO

from PIL import Image, ImageSequence

from services.executor.step_animation import animate


def picture(color: str, size: tuple[int, int] = (720, 1280)) -> bytes:
    content = BytesIO()
    Image.new("RGB", size, color).save(content, "WEBP", lossless=True)
    return content.getvalue()


def frames_of(animation: bytes) -> list[tuple[tuple[int, int], int, tuple[int, ...]]]:
    """The size, the milliseconds and the color in the middle of each frame."""
    opened = Image.open(BytesIO(animation))
    frames = []
    for frame in ImageSequence.Iterator(opened):
        shown = frame.convert("RGB")
        middle = shown.getpixel((shown.width // 2, shown.height // 2))
        assert isinstance(middle, tuple)
        frames.append((frame.size, frame.info["duration"], tuple(round(value / 64) for value in middle)))
    return frames


def test_each_picture_is_shown_for_its_time_and_in_one_size() -> None:
    red, blue = picture("red"), picture("blue", (1280, 720))
    size = (360, 640)
    assert frames_of(animate([(red, 500), (blue, 2000)])) == [(size, 500, (4, 0, 0)), (size, 2000, (0, 0, 4))]


def test_what_cannot_be_read_is_left_out() -> None:
    huge, red = picture("blue", (3000, 3000)), picture("red")
    damaged = [(b"no picture", 200), (huge, 200), (red[:-20], 200)]
    shown = frames_of(animate([*damaged, (red, 700), (picture("blue"), 300)]))
    assert [frame[1:] for frame in shown] == [(700, (4, 0, 0)), (300, (0, 0, 4))]
    assert animate(damaged[:2]) == b""
