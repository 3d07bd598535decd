//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16)) shared=2*16*16*4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    extern __shared__ float Mds_Nds[];
    const unsigned tile = blockDim.x;
    float* Mds = Mds_Nds;
    float* Nds = Mds_Nds + tile * tile;
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    unsigned row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
    float v = 0;
    for (unsigned ph = 0; ph < (Width + tile - 1) / tile; ++ph) {
        unsigned mc = ph * tile + tx, nr = ph * tile + ty;
        Mds[ty * tile + tx] = (row < Width && mc < Width) ? M[row * Width + mc] : 0.0f;
        Nds[ty * tile + tx] = (nr < Width && col < Width) ? N[nr * Width + col] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < tile; ++k) v += Mds[ty * tile + k] * Nds[k * tile + tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = v;
}
