//!tilelab block=(32,32) grid=(ceil(Width/32), ceil(Width/32))
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float sm[TILE_WIDTH][TILE_WIDTH];
    __shared__ float sn[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        float a = (row < Width && t + threadIdx.x < Width) ? M[row * Width + t + threadIdx.x] : 0;
        float b = (col < Width && t + threadIdx.y < Width) ? N[(t + threadIdx.y) * Width + col] : 0;
        sm[threadIdx.y][threadIdx.x] = a;
        sn[threadIdx.y][threadIdx.x] = b;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += sm[threadIdx.y][k] * sn[k][threadIdx.x];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
