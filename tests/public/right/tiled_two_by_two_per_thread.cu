//!tilelab block=(16,16) grid=(ceil(Width/32), ceil(Width/32)) tile=32
#define T 32
#define H 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    int r0 = blockIdx.y * T, c0 = blockIdx.x * T;
    float s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        for (int dy = 0; dy < T; dy += H)
            for (int dx = 0; dx < T; dx += H) {
                int i = y + dy, j = x + dx;
                a[i][j] = (r0 + i < Width && k0 + j < Width) ? M[(r0 + i) * Width + k0 + j] : 0;
                b[i][j] = (k0 + i < Width && c0 + j < Width) ? N[(k0 + i) * Width + c0 + j] : 0;
            }
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            float upper = a[y][k], lower = a[y + H][k], l = b[k][x], r = b[k][x + H];
            s00 += upper * l; s01 += upper * r;
            s10 += lower * l; s11 += lower * r;
        }
        __syncthreads();
    }
    int r = r0 + y, c = c0 + x;
    if (r < Width && c < Width) P[r * Width + c] = s00;
    if (r < Width && c + H < Width) P[r * Width + c + H] = s01;
    if (r + H < Width && c < Width) P[(r + H) * Width + c] = s10;
    if (r + H < Width && c + H < Width) P[(r + H) * Width + c + H] = s11;
}
