import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;

/**
 * Local storage of the reference, for programs that open many small tables.
 *
 * <p>Its reader of manifests reads single bytes from an unbuffered file: a system call for each took
 * four tenths of Java's processor time in tests. With {@code -Dmanifests.buffered=true} manifests are
 * read in one piece; data files and everything that is written pass as they are. Benchmarks leave it
 * out: there the reference runs as it is.
 */
public class Storage extends LocalFileIO {
    private static final long serialVersionUID = 1L;
    private static final boolean BUFFERED = Boolean.getBoolean("manifests.buffered");

    public static LocalFileIO local() {
        return BUFFERED ? new Storage() : LocalFileIO.create();
    }

    @Override
    public SeekableInputStream newInputStream(Path path) throws IOException {
        SeekableInputStream file = super.newInputStream(path);
        if (!path.getParent().getName().equals("manifest")) return file;
        try (InputStream in = file) {
            return new Bytes(in.readAllBytes());
        }
    }

    private static class Bytes extends SeekableInputStream {
        private final Positioned bytes;

        Bytes(byte[] bytes) {
            this.bytes = new Positioned(bytes);
        }

        @Override
        public void seek(long position) throws IOException {
            bytes.seek(position);
        }

        @Override
        public long getPos() {
            return bytes.position();
        }

        @Override
        public int read() {
            return bytes.read();
        }

        @Override
        public int read(byte[] into, int offset, int length) {
            return bytes.read(into, offset, length);
        }

        @Override
        public void close() {}
    }

    private static class Positioned extends ByteArrayInputStream {
        Positioned(byte[] bytes) {
            super(bytes);
        }

        void seek(long position) throws IOException {
            if (position < 0 || position > count) throw new IOException("no position " + position + " in " + count + " bytes");
            pos = (int) position;
        }

        int position() {
            return pos;
        }
    }
}
