//!tilelab block=(32, TILE_WIDTH/4) grid=(ceil(Width/32), ceil(Width/(TILE_WIDTH/4)))
#define WARPS (TILE_WIDTH / 4)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float rowOf[WARPS][32];
    __shared__ float Ns[32][32];
    int lane = threadIdx.x, w = threadIdx.y;
    int row = blockIdx.y * WARPS + w, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        for (int y = w; y < 32; y += WARPS)
            Ns[y][lane] = (k0 + y < Width && col < Width) ? N[(k0 + y) * Width + col] : 0.0f;
        __syncthreads();
        rowOf[w][lane] = (row < Width && k0 + lane < Width) ? M[row * Width + k0 + lane] : 0.0f;
        __syncwarp();
        for (int k = 0; k < 32; ++k) sum += rowOf[w][k] * Ns[k][lane];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
