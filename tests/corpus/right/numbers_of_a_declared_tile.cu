#define TILE_WIDTH 8

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[8][8], Nds[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    float sum = 0;
    for (int ph = 0; ph < (Width + 7) / 8; ++ph) {
        Mds[ty][tx] = row < Width && ph * 8 + tx < Width ? M[row * Width + ph * 8 + tx] : 0.0f;
        Nds[ty][tx] = ph * 8 + ty < Width && col < Width ? N[(ph * 8 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 8; ++k) sum += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
