//!tilelab block=(16,16) grid=(Width/96, Width/96) tile=96
#define T 96
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    for (int r = y; r < T; r += 16)
        for (int c = x; c < T; c += 16) {
            float s = 0;
            for (int k0 = 0; k0 < Width; k0 += T) {
                a[r][c] = M[(blockIdx.y * T + r) * Width + k0 + c];
                b[r][c] = N[(k0 + r) * Width + blockIdx.x * T + c];
                __syncthreads();
                for (int k = 0; k < T; ++k) s += a[r][k] * b[k][c];
                __syncthreads();
            }
            P[(blockIdx.y * T + r) * Width + blockIdx.x * T + c] = s;
        }
}
