//!tilelab block=(TILE_WIDTH, TILE_WIDTH/2, 2) grid=(ceil(Width/TILE_WIDTH), ceil(2*Width/TILE_WIDTH))
#define H (TILE_WIDTH / 2)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[2][H][TILE_WIDTH];
    __shared__ float Ns[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float handed[H][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, z = threadIdx.z;
    int row = blockIdx.y * H + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int start = 0; start < Width; start += 2 * TILE_WIDTH) {
        int k0 = start + z * TILE_WIDTH;
        Ms[z][ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        for (int y = ty; y < TILE_WIDTH; y += H)
            Ns[z][y][tx] = (k0 + y < Width && col < Width) ? N[(k0 + y) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[z][ty][k] * Ns[z][k][tx];
        __syncthreads();
    }
    if (z == 1) handed[ty][tx] = sum;
    __syncthreads();
    if (z == 0 && row < Width && col < Width) P[row * Width + col] = sum + handed[ty][tx];
}
