#define TILE_WIDTH 16
#define COARSE_FACTOR 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float left[TILE_WIDTH][TILE_WIDTH];
    __shared__ float right[TILE_WIDTH][TILE_WIDTH * COARSE_FACTOR];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col0 = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        left[ty][tx] = M[row * Width + k0 + tx];
#pragma unroll
        for (int c = 0; c < COARSE_FACTOR; ++c)
            right[ty][tx + c * TILE_WIDTH] = N[(k0 + ty) * Width + col0 + c * TILE_WIDTH];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            float m = left[ty][k];
            s0 += m * right[k][tx];
            s1 += m * right[k][tx + TILE_WIDTH];
            s2 += m * right[k][tx + 2 * TILE_WIDTH];
            s3 += m * right[k][tx + 3 * TILE_WIDTH];
        }
        __syncthreads();
    }
    float* out = P + row * Width + col0;
    out[0] = s0; out[TILE_WIDTH] = s1; out[2 * TILE_WIDTH] = s2; out[3 * TILE_WIDTH] = s3;
}
