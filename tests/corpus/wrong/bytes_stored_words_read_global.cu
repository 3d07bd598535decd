__device__ uchar4 marks[64][16][4];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int col = blockIdx.x * blockDim.x + tx, row = blockIdx.y * blockDim.y + ty;
    unsigned char* mine = (unsigned char*)marks[b][ty];
    mine[tx] = col < Width && row < Width;
    unsigned int four = ((unsigned int*)marks[b][ty])[tx / 4];
    if (four == 0) return;
    if (col < Width && row < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
